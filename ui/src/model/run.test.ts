import { describe, expect, test } from 'vitest'
import {
  around, cellRange, emptyRun, findingStep, groupsOf, laneName, MEASURES, moveRange, ORDERS, paint, readHeatMap, readRun, runPath, SHADES, shadeOf, shades,
  signedNs, sizeOf, spreadLabels, withReach, zoomRange, reachOf, type RunFinding, type RunRoute,
} from './run'

const address = (route: RunRoute) => readRun(new URL(runPath(route), 'http://host/').searchParams)

describe('addresses', () => {
  test('bring back every state of the page', () => {
    for (const measure of MEASURES) {
      for (const order of ORDERS) {
        const route: RunRoute = {
          ...emptyRun('team/runs 1', 'a b/c%2F?&#'), measure, order, scale: 1500, rows: { first: 3, last: 9 }, steps: { first: 0, last: 0 }, step: 17, lane: '19.1',
          group: 'tp [0, 1]', collective: 2,
        }
        expect(address(route)).toEqual(route)
      }
    }
    expect(address(emptyRun('', ''))).toEqual(emptyRun('', ''))
  })

  test('of defaults are short, and what is not understood is left out', () => {
    expect(runPath(emptyRun('runs', 'night'))).toBe('./?run=runs%2Fnight')
    const read = readRun(new URLSearchParams('run=runs/%25E0&measure=luck&order=&scale=-1&rows=9-3&steps=x&step=-1&lane=rank&collective=two'))
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

  test('are read as the largest values, then the means, then the scale; what is not known is transparent', () => {
    const bytes = new ArrayBuffer(8 + 4 * 6)
    new Uint32Array(bytes, 0, 2).set([1, 2])
    new Float32Array(bytes, 8).set([5, NaN, 3, NaN, -20, 20])
    const map = readHeatMap(bytes)
    expect([map.rows, map.columns, [...map.max], [...map.mean], map.scale]).toEqual([1, 2, [5, NaN], [3, NaN], { low: -20, high: 20 }])
    const colors = shades('dark')
    expect([...paint(map, { low: -5, high: 5 }, colors)]).toEqual([...colors[SHADES - 1]!, 255, 0, 0, 0, 0])
  })
})

describe('colors', () => {
  test('grow with the distance from zero, which is in the middle', () => {
    const scale = withReach({ low: -99, high: 99 }, 10, true)
    expect([-99, -10, 0, 10, 99].map((value) => shadeOf(value, scale))).toEqual([0, 0, (SHADES - 1) / 2, SHADES - 1, SHADES - 1])
    expect(shadeOf(5, { low: 5, high: 5 })).toBe((SHADES - 1) / 2)
  })

  test('of times begin where the usual ones do, so that times which are all long differ; a chosen reach leaves that', () => {
    const scale = { low: 60, high: 70 }
    expect([0, 60, 65, 70, 99].map((value) => shadeOf(value, scale))).toEqual([0, 0, (SHADES - 1) / 2, SHADES - 1, SHADES - 1])
    expect(reachOf(scale, false)).toBe(10)
    expect(withReach(scale, 5, false)).toEqual({ low: 60, high: 65 })
  })

  // What people without cones for green or for red see, of linear RGB; Machado, Oliveira and Fernandes 2009.
  const BLIND = {
    green: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    red: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  }
  const linear = (rgb: readonly number[]) => rgb.map((value) => (value / 255) ** 2.2)
  const light = (rgb: readonly number[]) => linear(rgb).reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i]!, 0) ** (1 / 2.2)

  test.each(['dark', 'light'] as const)('of the %s theme are gray at zero, change steadily to both sides, and are told apart without red or green', (theme) => {
    const colors = shades(theme)
    const middle = (SHADES - 1) / 2
    const zero = colors[middle]!
    expect(Math.max(...zero) - Math.min(...zero)).toBeLessThan(4)
    for (const side of [-1, 1]) {
      const lights = Array.from({ length: middle + 1 }, (_, at) => light(colors[middle + side * at]!) * (theme === 'dark' ? 1 : -1))
      for (let at = 8; at <= middle; at += 8) expect(lights[at]!).toBeGreaterThan(lights[at - 8]!)
    }
    const times = shades(theme, false) // from that gray to that orange
    expect([times[0], times.at(-1)]).toEqual([zero, colors.at(-1)])
    const lights = times.map((color) => light(color) * (theme === 'dark' ? 1 : -1))
    for (let at = 8; at < SHADES; at += 8) expect(lights[at]!).toBeGreaterThan(lights[at - 8]!)
    for (const matrix of Object.values(BLIND)) {
      const seen = (rgb: readonly number[]) => matrix.map((row) => row.reduce((sum, factor, i) => sum + factor * linear(rgb)[i]!, 0))
      const apart = (a: readonly number[], b: readonly number[]) => Math.hypot(...seen(a).map((value, i) => value - seen(b)[i]!))
      expect(apart(colors[0]!, colors[SHADES - 1]!)).toBeGreaterThan(0.3)
      expect(apart(colors[middle / 2 | 0]!, colors[SHADES - 1 - (middle / 2 | 0)]!)).toBeGreaterThan(0.1)
    }
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
