// Query results of the Operators, Kernels and Steps tabs, kept while the profile is open: aggregating a large profile takes
// time, and reopening a tab must not repeat it.
import { Query } from './sql.svelte'

export const operations = new Query()
export const kernels = new Query()
export const copies = new Query()
export const steps = new Query()
