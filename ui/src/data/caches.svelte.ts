// What is kept of a profile while it is open. One of the same name may have other content when it is opened again.
import {
  copies, deviceTable, kernels, layerInstructions, layers, modules, operations, sbufPartitions, scratchpad, steps,
} from './cachedQueries.svelte'
import { deviceSummary } from './deviceSummary.svelte'
import { figures } from './figures.svelte'
import { ranks } from './ranks.svelte'
import { schema } from './schema.svelte'
import { openFile, sources } from './source.svelte'
import { summary } from './summary.svelte'
import { toolAnswers, toolList } from './tools.svelte'

export function clearCaches(): void {
  for (const store of [
    schema, modules, operations, kernels, copies, steps, layers, layerInstructions, deviceTable, sbufPartitions, scratchpad, ranks, deviceSummary, sources, openFile,
    toolAnswers, toolList, summary, figures,
  ]) store.clear()
}
