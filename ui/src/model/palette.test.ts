// Colors: stable, distinguishable, and readable under labels in both themes.
import { expect, test } from 'vitest'
import { byEvent, byKey, colorQuery, engineOf, layersToColor } from './coloring'
import { durationSlot, keySlot, nameSlot, NEUTRAL, paletteBytes, RAMP, SLOTS } from './palette'

function luminance([r, g, b]: number[]): number {
  const [x, y, z] = [r!, g!, b!].map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * x! + 0.7152 * y! + 0.0722 * z!
}

test('labels are readable on every color', () => {
  for (const [theme, ink] of [['dark', [13, 19, 25]], ['light', [19, 26, 32]]] as const) {
    const bytes = paletteBytes(theme)
    for (let slot = 0; slot < SLOTS; slot++) {
      const contrast = (luminance([...bytes.slice(4 * slot, 4 * slot + 3)]) + 0.05) / (luminance([...ink]) + 0.05)
      expect(contrast, `${theme} ${slot}`).toBeGreaterThan(4.5)
    }
  }
})

test('a family of names shares its hue and differs in shade', () => {
  const hue = (name: string) => (nameSlot(name) - 1) % 24
  expect(hue('fusion_1')).toBe(hue('fusion_12'))
  expect(hue('fusion.3')).toBe(hue('fusion'))
  expect(nameSlot('%fusion.1 = f32[8] fusion(f32[8] %p.7)')).toBe(nameSlot('fusion.1'))
  expect(nameSlot('fusion_1')).not.toBe(nameSlot('fusion_2'))
  expect(nameSlot('fusion_1')).toBe(nameSlot('fusion_1'))
  expect(new Set(['add', 'mul', 'gemm', 'copy', 'softmax', 'all-reduce'].map(hue)).size).toBeGreaterThan(3)
})

test('longer events are further along the color ramp', () => {
  const slots = [1e3, 1e6, 1e8, 1e10, 1e13].map(durationSlot)
  expect(slots).toEqual([...slots].sort((a, b) => a - b))
  expect(slots.at(-1)! - slots[0]!).toBe(RAMP - 1)
})

test('keys get colors in order of importance; unknown names are neutral', () => {
  const coloring = byKey('opcode', [['a', 'fusion'], ['b', 'custom-call'], ['c', 'fusion']])
  expect(coloring.ofName!('a')).toBe(coloring.ofName!('c'))
  expect(coloring.ofName!('a')).not.toBe(coloring.ofName!('b'))
  expect(coloring.ofName!('d')).toBe(NEUTRAL)
  expect(coloring.legend.map((entry) => entry.label)).toEqual(['fusion', 'custom-call', 'other'])
})

test('a profile without operations has no query, and streams are one engine', () => {
  expect(colorQuery('opcode', new Set(['SystemProfileEvents']))).toBeNull()
  expect(colorQuery('module', new Set(['HloOperation', 'HloModule', 'HloRun']))).toContain('HloModule')
  const lane = {
    id: 1, parent: 0, level: 'lane', role: 'stream', table: 'SystemProfileEvents', is_counter: false, rows: 1, event_count: 1,
    sort_key: 0,
  } as const
  const device = { ...lane, level: 'source', role: 'device', name: '' } as const
  expect(engineOf({ ...lane, name: 'Stream #14(Compute)' }, device)).toBe('Stream')
  expect(engineOf({ ...lane, name: 'worker/-123' }, undefined)).toBe('host: worker')
})

test('keys of a legend have hues that can be told apart, most of all those next to each other', () => {
  const hue = (n: number) => {
    const slot = keySlot(n)
    const [r, g, b] = paletteBytes('dark').subarray(4 * slot, 4 * slot + 3)
    return (Math.atan2(Math.sqrt(3) * (g! - b!), 2 * r! - g! - b!) * 180) / Math.PI
  }
  const apart = (a: number, b: number) => {
    const difference = Math.abs(hue(a) - hue(b)) % 360
    return Math.min(difference, 360 - difference)
  }
  for (let n = 0; n < 12; n++) {
    expect(apart(n, n + 1)).toBeGreaterThan(90)
    for (let other = 0; other < n; other++) expect(apart(n, other), `${n} and ${other}`).toBeGreaterThan(12)
  }
  expect(new Set(Array.from({ length: 36 }, (_, n) => keySlot(n))).size).toBe(36)
})

test('slices are brighter than the background in the dark theme and darker in the light one, as coverage is added up', () => {
  for (const [theme, back] of [['dark', [23, 28, 34]], ['light', [255, 255, 255]]] as const) {
    const bytes = paletteBytes(theme)
    for (let slot = 0; slot < SLOTS; slot++) {
      for (let i = 0; i < 3; i++) expect((bytes[4 * slot + i]! - back[i]!) * (theme === 'dark' ? 1 : -1)).toBeGreaterThanOrEqual(0)
    }
  }
})

test('instructions are colored by id: runs of a key, neutral outside of them', () => {
  const runs = [
    { first: 10, last: 14, key: '/m/a/x', total_ns: 5 }, { first: 15, last: 15, key: '/m/b/y', total_ns: 50 },
    { first: 20, last: 29, key: '/m/a/x', total_ns: 5 }, { first: 30, last: 30, key: '/m/a/z', total_ns: 1 },
  ]
  const { ofEvent, legend } = byEvent('layer', runs)
  expect([9, 10, 14, 15, 16, 19, 20, 29, 31].map((id) => ofEvent!(id) === NEUTRAL)).toEqual([true, false, false, false, true, true, false, false, true])
  expect(ofEvent!(12)).toBe(ofEvent!(25))
  expect(legend.map(({ label }) => label)).toEqual(['/m/b/y', '/m/a/x', '/m/a/z', 'other'])
  expect(byEvent('layer', runs, layersToColor(runs.map(({ key }) => key))).legend).toHaveLength(4)
  const many = Array.from({ length: 60 }, (_, at) => `/m/${at % 9}/${at}`)
  expect(layersToColor(many)('/m/3/12')).toBe('/m/3')
  expect(layersToColor(['a/b', 'c'])('a/b')).toBe('a/b')
})
