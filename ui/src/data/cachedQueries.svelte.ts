// What the tables of operations, kernels and steps were answered: adding up a large profile takes a while, and a tab that is
// opened again shall not ask again.
import { Query } from './sql.svelte'

export const operations = new Query()
export const kernels = new Query()
export const copies = new Query()
export const steps = new Query()
