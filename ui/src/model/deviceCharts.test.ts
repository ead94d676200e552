// Charts, boxes and exports of device profiles.
import { expect, test } from 'vitest'
import { EXPORT_TABLES, exportSql } from './csvExport'
import { plainText } from './figures'
import { slowestRank } from './deviceTabs'
import { layerBars } from './layerChart'
import { addressAxis, allocationRect, allocationsSql } from './memoryMap'
import { rectAt, toPixels } from './rectChart'
import { collectiveBox, joinParts, warningBox } from './timelineBoxes'

test('layers that overlap in time are in rows of their own, inner ones below', () => {
  const row = (node_name: string, start_ts: number, end_ts: number) => ({ node_name, start_ts, end_ts, active_ns: end_ts - start_ts })
  const { rects, rows } = layerBars([row('/a', 0, 10), row('/a/x', 0, 6), row('/a/y', 4, 8), row('/a/x', 6, 9), row('/b', 10, 20)])
  expect(rects.map(({ label, y }) => [label, y])).toEqual([['a', 0], ['b', 0], ['x', 1], ['y', 2], ['x', 1]])
  expect(rows).toBe(3)
})

test('the rectangle under the pointer is the one drawn last', () => {
  const rect = (label: string, from: number, to: number, y: number, height: number) => ({ label, from, to, y, height, slot: 0, lines: [] })
  const rects = [rect('large', 0, 100, 0, 10), rect('small', 40, 60, 4, 2)]
  const span = { from: 0, to: 100 }
  expect(rectAt(rects, span, 100, 10, 50, 50)?.label).toBe('small')
  expect(rectAt(rects, span, 100, 10, 20, 50)?.label).toBe('large')
  expect(rectAt(rects, span, 100, 10, 50, 150)).toBeNull()
  expect(toPixels(rects[1]!, { from: 50, to: 60 }, 100, 1)).toEqual({ x: 0, y: 4, width: 100, height: 2 })
  expect(toPixels(rects[1]!, { from: 70, to: 80 }, 100, 1)).toBeNull()
})

test('an allocation lies at its addresses while it lasts', () => {
  const row = {
    start_ts: 1, end_ts: 3, start_address: 1024, end_address: 2048, op_source_type: 'dma', opcode: null, operands: null, queue_name: 'q0', block_id: 7,
    tensor_name: 'w', hlo_name: null, note: null,
  }
  const rect = allocationRect(row, 'tensor')
  expect(rect).toMatchObject({ from: 1000, to: 3000, y: 1024, height: 1024, label: 'w' })
  expect(rect.lines).toEqual(['1.02 kB a partition, addresses 1,024 to 2,048', 'loaded by q0, block 7'])
  expect(addressAxis(196_608).map(({ text }) => text)).toEqual(['0', '32 KiB', '64 KiB', '96 KiB', '128 KiB', '160 KiB', '192 KiB'])
  expect(allocationsSql('sbuf32', { from: 1000, to: 2000 })).toContain('partition = 32 AND end_ts >= 1 AND start_ts <= 2')
  expect(allocationsSql('scratchpad', { from: 1000, to: 2000 })).toContain('FROM {ScratchpadAllocation} WHERE end_ts')
})

test('boxes are around the lanes of their CC-core or queue', () => {
  const collective = collectiveBox({
    rank: 1, start_ts: 10, end_ts: 30, operation: 'AllReduce', algorithm: 'mesh', dtype: 'fp32', num_elements: 2048, input_size: 8192, output_size: 8192,
    bus_bandwidth: 1e9, replica_group: '[0, 1]', trigger_engine: 'GpSimd', cc_trigger_start_delay: 0, stream_id: 2, id: 5,
  })
  expect(['CC-core 2', 'Collectives, CC-core 2', 'CC-core 1', 'Vector'].filter(collective.lanes)).toEqual(['CC-core 2', 'Collectives, CC-core 2'])
  expect(collective).toMatchObject({ kind: 'collective', from: 10_000, to: 30_000, event: 5 })
  const warning = warningBox({ rank: 0, start_ts: 0, end_ts: 1, title: 'Small DMA transfers', statement: 'text', queue_name: 'q1' })
  expect(['q1', 'q1, DMA engine 3', 'q10', 'Throttling'].filter(warning.lanes)).toEqual(['q1', 'q1, DMA engine 3'])
  expect(joinParts([{ y: 20, height: 10 }, { y: 0, height: 20 }, { y: 40, height: 5 }])).toEqual([{ y: 0, height: 30 }, { y: 40, height: 5 }])
})

test('the slowest rank is named', () => {
  const row = (rank: number, held_up_ns: number, is_slowest: boolean) => ({ rank, held_up_ns, is_slowest, collective_count: 7, came_last_count: 3 })
  expect(plainText(slowestRank([row(0, 0, false), row(1, 0, false)]))).toBe('No rank waited for another.')
  expect(plainText(slowestRank([row(0, 0, false), row(1, 3000, true), row(2, 0, false)]))).toBe(
    'Rank 1 is the slowest: it arrived last at 3 of 7 collectives, and the others waited 3.000 µs for it, 1.500 µs each on average.')
})

test('exports are of the visible range, the lane first', () => {
  const [instructions] = EXPORT_TABLES
  const sql = exportSql(instructions!, { from: 1_000_000, to: 3_000_000 }, 2, 100)
  expect(sql).toMatch(/^SELECT timeline_track AS timeline_track, \* EXCLUDE \(timeline_track\) FROM Instruction/)
  for (const part of ['end_ts >= 1000 AND start_ts <= 3000', 'rank = 2', 'floor((start_ts - 1000) / 20)']) expect(sql).toContain(part)
  expect(exportSql(instructions!, { from: 0, to: 3_000_000 }, null, null)).not.toMatch(/rank = |QUALIFY/)
})
