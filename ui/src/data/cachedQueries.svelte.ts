// Query results of tabs with aggregated tables, kept while the profile is open: aggregating a large profile takes
// time, and reopening a tab must not repeat it.
import { Query } from './sql.svelte'

export const modules = new Query()
export const operations = new Query()
export const kernels = new Query()
export const copies = new Query()
export const steps = new Query()
export const layers = new Query()
export const layerInstructions = new Query()
export const deviceTable = new Query()
export const sbufPartitions = new Query()
export const scratchpad = new Query()
