// Tabs, summary and details of device profiles.
import { expect, test } from 'vitest'
import type { EventDetails } from './api'
import { fieldLink, keyFacts, shownGroups } from './details'
import { plainText } from './figures'
import { activeShares, boundBy, criticalPath, flops, hbmTraffic, headlines, opcodeShare, systemFacts, utilization } from './deviceSummary'
import { columnKind, ofRank, recordRows, schemaColumns, tableViews } from './deviceTabs'
import { layerTree, type LayerRow } from './layers'
import { formatCell } from './tables'
import { tabsOf } from './tabs'
import { TABS } from './view'

test('device profiles have tabs of their own; a tab of a link is always there', () => {
  expect(tabsOf(false, 0, 'summary')).not.toContain('layers')
  expect(tabsOf(true, 1, 'summary')).toEqual([
    'summary', 'selection', 'search', 'layers', 'tensors', 'queues', 'memory', 'map', 'neff', 'terms', 'markers', 'source', 'sql', 'tables',
  ])
  expect(tabsOf(true, 1, 'kernels')).toContain('kernels')
  expect(new Set([...tabsOf(true, 2, 'summary'), ...tabsOf(false, 0, 'summary')])).toEqual(new Set(TABS))
})

test('queries take the rows of a rank where tables have ranks', () => {
  expect(ofRank('FROM {A} JOIN {B}', 3, (table) => table === 'A')).toBe('FROM (SELECT * EXCLUDE (rank) FROM A WHERE rank = 3) JOIN B')
  expect(ofRank('FROM {A}', null, () => true)).toBe('FROM A')
  expect(tableViews('neff', (table) => table === 'TensorInfo').map(({ key }) => key)).toEqual(['nodes'])
  expect(tableViews('neff', () => false).map(({ key }) => key)).toEqual(['header'])
})

test('columns are shown by the units of the schema; those without values are left out', () => {
  const column = (name: string, unit: string) => ({ name, type: 'int64', unit, meaning: `The ${name}.` })
  const response = {
    columns: [{ name: 'size', kind: 'number' as const }, { name: 'note', kind: 'text' as const }, { name: 'wait', kind: 'number' as const }],
    rows: [[2000, '', 1500], [3000, null, 10]], truncated: false,
  }
  const table = { name: 'T', meaning: '', rows: 2, columns: [column('size', 'B'), column('wait', 'ns')] }
  const columns = schemaColumns(response, [table], { key: 'things', bars: ['size'] })
  expect(columns.map(({ key, kind, hasBar, meaning, figure }) => [key, kind, hasBar, meaning, figure])).toEqual([
    ['size', 'bytes', true, 'size: The size.', 'table.T.size'], ['wait', 'ns', false, 'wait: The wait.', 'table.T.wait'],
  ])
  expect(schemaColumns(response, [], { key: 'things' }).map(({ figure }) => figure)).toEqual(['page.things.size', 'page.things.wait'])
  expect(formatCell(columns[1]!.value(response.rows[0]!), 'ns')).toBe('1.500 µs')
  expect(recordRows(response, { name: 'T', meaning: '', rows: 1, columns: [column('size', 'B')] })[0]).toEqual({
    name: 'size', value: 2000, kind: 'bytes', meaning: 'The size.', formula: '',
  })
  expect(['total_time', 'mfu_percent', 'queue_idx', 'raw_flops'].map((name) => columnKind(name, name === 'total_time' ? 's' : ''))).toEqual(['s', 'share', 'id', 'flops'])
})

test('layers form a tree by their paths, each with the instructions of all in it', () => {
  const row = (node_name: string, parent_name: string): LayerRow => ({
    node_name, parent_name, start_ts: 10, end_ts: 50, active_ns: 25, mfu: 4, hfu: 6, hbm_read_bytes: 100, hbm_write_bytes: null, load_weight_bytes: 7,
  })
  const rows = [row('/', ''), row('/m', '/'), row('/m/a', '/m'), row('/m/b', '/m')]
  const done = (layer: string, engine: string, count: number) => ({ layer, engine, count, time_ns: 10 * count, flops: count })
  const [root, ...others] = layerTree(rows, [done('/m/a', 'Tensor', 2), done('/m/a', 'Vector', 1), done('/m/b', 'Tensor', 4), done('/m', 'Sync', 8)])
  expect(others).toEqual([])
  expect([root!.name, root!.instructions, root!.flops]).toEqual(['(all)', 15, 15])
  const m = root!.children[0]!
  expect([m.name, m.active_ns, m.hbm_write, m.engine_ns]).toEqual(['m', 25, null, { Tensor: 60, Vector: 10, Sync: 80 }])
  expect(m.children.map(({ name, instructions }) => [name, instructions])).toEqual([['a', 3], ['b', 4]])
})

const METRICS = {
  total_time: 0.001, tensor_engine_active_time: 0.0005, tensor_engine_active_time_percent: 0.5, tensor_engine_instruction_count: 7,
  dma_active_time: 0.0002, dma_active_time_percent: 0.2, dma_transfer_count: 3, cc_op_active_time: 0, cc_op_active_time_percent: 0,
  mfu_estimated_percent: 0.1, mfu_max_achievable_estimated_percent: 0.4, hfu_estimated_percent: null, hardware_flops: 4e9, model_flops: 2e9,
  transpose_flops: 1e9, hbm_read_bytes: 1000, spill_reload_bytes: 250, hbm_write_bytes: 100, spill_save_bytes: 0, mm_arithmetic_intensity: 10,
  peak_flops_bandwidth_ratio: 200,
}

test('the summary shows what is known of the metrics', () => {
  expect(activeShares(METRICS).map(({ name, value, note }) => [name, plainText(value), plainText(note!)])).toEqual([
    ['Tensor', '50.0 % · 500.0 µs', '7 instructions'], ['DMA', '20.0 % · 200.0 µs', '3 transfers'],
  ])
  const opcode = { engine: 'Scalar', opcode: 'ACTIVATE', instruction_count: 4, instruction_time_ns: 100_100, active_time_ns: 93_000, active_time_percent: 0.093, rank: 0 }
  const share = opcodeShare(opcode)
  expect([share.name, plainText(share.value), plainText(share.note!)]).toEqual(['ACTIVATE · Scalar', '9.3 % · 93.00 µs', '4 instructions, 25.02 µs each on average'])
  expect(utilization(METRICS).map(({ name, note }) => [name.split(':')[0], plainText(note!)])).toEqual([['MFU', 'HBM bandwidth allows 40.0 %']])
  expect(flops(METRICS).map(({ share }) => share)).toEqual([0.5, 1, 0.25])
  expect(hbmTraffic(METRICS).map(({ name, value }) => [name, value])).toEqual([['Read', 750], ['Spill reload', 250], ['Written', 100]])
  expect(plainText(boundBy(METRICS))).toBe('10 operations per byte of HBM, below the hardware’s 200: memory would be the limit.')
  const path = [{ unit: 'DMA', wait: null, time_ns: 750_000 }, { unit: '', wait: 'semaphore', time_ns: 250_000 }]
  expect(criticalPath(path).map(({ name, value }) => [name, plainText(value)])).toEqual([['DMA', '75.0 % · 750.0 µs'], ['Wait: semaphore', '25.0 % · 250.0 µs']])
  expect(headlines(METRICS).slice(0, 2).map(([name, value]) => [name, plainText(value)])).toEqual([['Time on the device', '1.000 ms'], ['MFU', '10.0 %']])
  for (const make of [activeShares, utilization, flops, hbmTraffic, headlines]) expect(make({})).toEqual([])
  expect(systemFacts({ instance_type: 'trn1.32xlarge', neuroncore_idx: 0, driver_version: null, hbm_ddr_bandwidth: 41e10, is_simulation: true }).map(([name, value]) => [name, plainText(value)])).toEqual([
    ['Instance', 'trn1.32xlarge'], ['NeuronCore', '0'], ['Simulated', 'yes'], ['HBM bandwidth', '410 GB/s'],
  ])
})

test('the row of an instruction is in groups, without amounts of 0; operands are explained elsewhere', () => {
  const field = (name: string, value: unknown, unit = '') => ({ name, value, unit, meaning: '' })
  const details: EventDetails = {
    id: 5, table: 'SystemProfileEvents', name: 'MATMUL', track: 1, row: 0, start: '0', end: '10', predecessors: [], successors: [],
    groups: [
      { title: 'General', fields: [field('name', 'MATMUL')] }, { title: 'IDs', fields: [field('id', 5)] },
      {
        title: 'Instruction',
        fields: [
          field('engine', 'Tensor'), field('operands', 'S[1]++@complete'), field('pc', 3), field('layer', '/m/a'), field('raw_flops', 64), field('sbuf_read_bytes', 0, 'B'),
          field('psum_write_bytes', 16, 'B'), field('evt_wait_time_ns', 9, 'ns'), field('rank', 0),
        ],
      },
    ],
  }
  expect(shownGroups(details).map(({ title, fields }) => [title, fields.map(({ name }) => name)])).toEqual([
    ['Instruction', ['engine', 'rank']], ['Compute', ['raw_flops']], ['Memory traffic', ['psum_write_bytes']], ['Waiting', ['evt_wait_time_ns']],
    ['Program', ['pc', 'layer']], ['IDs', ['id']],
  ])
  expect(keyFacts(details)).toEqual([{ label: 'Layer', text: '/m/a', link: { to: 'search', field: 'layer', value: '/m/a', title: 'Find all events with this value' } }])
  expect(fieldLink(details, 'DmaPacketAggregated', field('trigger', 12))).toMatchObject({ to: 'event', id: 12 })
})
