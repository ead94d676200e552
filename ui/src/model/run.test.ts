import { describe, expect, test } from 'vitest'
import {
  around, cellRange, emptyRun, findingStep, groupsOf, laneName, MEASURES, moveRange, ORDERS, paint, readHeatMap, readRun, robustRange, runPath, SHADES, shadeOf, shades,
  signedNs, sizeOf, spreadLabels, zoomRange, type RunFinding, type RunRoute,
} from './run'

const address = (route: RunRoute) => readRun(new URL(runPath(route), 'http://host/').searchParams)

describe('addresses', () => {
  test('bring back every state of the page', () => {
    for (const measure of MEASURES) {
      for (const order of ORDERS) {
        const route: RunRoute = {
          ...emptyRun('team/runs 1', 'a b/c%2F?&#'), measure, order, rows: { first: 3, last: 9 }, steps: { first: 0, last: 0 }, step: 17, lane: '19.1',
          group: 'tp [0, 1]', collective: 2,
        }
        expect(address(route)).toEqual(route)
      }
    }
    expect(address(emptyRun('', ''))).toEqual(emptyRun('', ''))
  })

  test('of defaults are short, and what is not understood is left out', () => {
    expect(runPath(emptyRun('runs', 'night'))).toBe('./?run=runs%2Fnight')
    const read = readRun(new URLSearchParams('run=runs/%25E0&measure=luck&order=&rows=9-3&steps=x&step=-1&lane=rank&collective=two'))
    expect(read).toEqual(emptyRun('runs', '%E0'))
  })
})

describe('cells', () => {
  test('divide all positions, as the server does', () => {
    for (const size of [1, 2, 7, 30, 100]) {
      for (let cells = 1; cells <= size; cells++) {
        const shown = { first: 5, last: 5 + size - 1 }
        const owners = Array.from({ length: size }, (_, at) => Math.floor((at * cells) / size))
        for (let cell = 0; cell < cells; cell++) {
          const { first, last } = cellRange(shown, cells, cell)
          expect([first - 5, last - 5]).toEqual([owners.indexOf(cell), owners.lastIndexOf(cell)])
        }
      }
    }
  })

  test('are read as the largest values, then the means', () => {
    const bytes = new ArrayBuffer(8 + 4 * 4)
    new Uint32Array(bytes, 0, 2).set([1, 2])
    new Float32Array(bytes, 8).set([5, NaN, 3, NaN])
    const map = readHeatMap(bytes)
    expect([map.rows, map.columns, [...map.max], [...map.mean]]).toEqual([1, 2, [5, NaN], [3, NaN]])
    const colors = shades('dark')
    expect([...paint(map, { low: 0, high: 5 }, colors, [1, 2, 3])]).toEqual([...colors[SHADES - 1]!, 255, 1, 2, 3, 255])
  })
})

describe('colors', () => {
  test('reach ten robust standard deviations from the median, but not beyond what there is', () => {
    expect(robustRange(new Float32Array([1, 2, 3, 4, 1000]))).toEqual({ low: 1, high: expect.closeTo(3 + 14.826, 3) as number })
    expect(robustRange(new Float32Array([7, 7, 7, 9]))).toEqual({ low: 7, high: 9 })
    expect(robustRange(new Float32Array([NaN]))).toEqual({ low: 0, high: 1 })
    const many = Float32Array.from({ length: 200_000 }, (_, i) => (i * 7919) % 100_003)
    const { low, high } = robustRange(many)
    expect([low, high]).toEqual([0, 100_002]) // ten times the spread is more than there is
    many[5] = 1e9
    expect(robustRange(many).high / (50_001 + 14.826 * 25_000)).toBeCloseTo(1, 1)
  })

  test('grow with the value', () => {
    const range = { low: -10, high: 10 }
    expect([-99, -10, 0, 10, 99].map((value) => shadeOf(value, range))).toEqual([0, 0, Math.round((SHADES - 1) / 2), SHADES - 1, SHADES - 1])
    expect(shadeOf(5, { low: 5, high: 5 })).toBe(0)
  })
})

describe('what is shown', () => {
  test('stays inside when zoomed and moved, and keeps its size when moved', () => {
    for (let round = 0; round < 500; round++) {
      const count = 1 + Math.floor(Math.random() * 50)
      const first = Math.floor(Math.random() * count)
      const shown = { first, last: first + Math.floor(Math.random() * (count - first)) }
      const zoomed = zoomRange(shown, Math.random() * 3, Math.random(), count)
      const moved = moveRange(shown, (Math.random() - 0.5) * 100, count)
      const near = around(first, 8, count)
      for (const range of [zoomed, moved, near]) {
        expect(range.first).toBeGreaterThanOrEqual(0)
        expect(range.last).toBeGreaterThanOrEqual(range.first)
        expect(range.last).toBeLessThan(count)
      }
      expect(sizeOf(moved)).toBe(sizeOf(shown))
      expect(near.first <= first && first <= near.last).toBe(true)
    }
  })

  test('zooms around the pointer', () => {
    expect(zoomRange({ first: 0, last: 99 }, 0.5, 0, 100)).toEqual({ first: 0, last: 49 })
    expect(zoomRange({ first: 0, last: 99 }, 0.5, 1, 100)).toEqual({ first: 50, last: 99 })
    expect(zoomRange({ first: 40, last: 43 }, 0.1, 0.5, 100)).toEqual({ first: 40, last: 43 })
  })
})

describe('groups of lanes', () => {
  test('are runs of the same number', () => {
    expect(groupsOf([0, 0, 1, 2, 2].map((cluster) => ({ cluster })))).toEqual([
      { cluster: 0, first: 0, last: 1 }, { cluster: 1, first: 2, last: 2 }, { cluster: 2, first: 3, last: 4 },
    ])
    expect(groupsOf([])).toEqual([])
  })

  test('have labels that do not overlap, in their order, near their places', () => {
    expect(spreadLabels([50, 100], 14, 200)).toEqual([50, 100])
    expect(spreadLabels([0.2, 0.6, 120], 14, 200)).toEqual([7, 21, 120])
    expect(spreadLabels([100, 198, 199], 14, 200)).toEqual([100, 179, 193])
    for (let round = 0; round < 200; round++) {
      const places = Array.from({ length: 1 + Math.floor(Math.random() * 12) }, () => Math.random() * 300).sort((a, b) => a - b)
      const spread = spreadLabels(places, 14, 300)
      spread.forEach((place, i) => expect(i === 0 || place - spread[i - 1]! >= 14 - 1e-9).toBe(true))
      expect(spread[0]! >= 7 - 1e-9 && spread.at(-1)! <= 293 + 1e-9).toBe(true)
    }
  })
})

test('lanes and times have names', () => {
  expect([laneName({ rank: 19, device: 0 }), laneName({ rank: 19, device: 1 })]).toEqual(['19', '19.1'])
  expect([signedNs(-1500), signedNs(1500)].map((text) => text[0])).toEqual(['−', '1'])
})

test('a finding is about its worst step, or the first', () => {
  const finding = (evidence: Record<string, unknown>) => findingStep({ evidence } as RunFinding)
  expect([finding({ step: 4, worst_step: 7 }), finding({ first_step: 0 }), finding({ step: '4' }), finding({})]).toEqual([7, 0, null, null])
})
