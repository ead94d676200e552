// Filter, sorting, scroll position and choices of tables, by their label: part of the view, so that a link restores them.
import type { Sorting } from '../model/tables'
import type { GridState } from '../model/view'
import { view } from './view.svelte'

export function changeGrid(label: string, change: Partial<GridState>): void {
  view.grids[label] = { ...view.grids[label], ...change }
}

export function gridFilter(label: string): string {
  return view.grids[label]?.filter ?? ''
}

/** "-total_ns" sorts in descending order. */
export function gridSort(label: string): Sorting | null {
  const sort = view.grids[label]?.sort
  return sort ? { key: sort.replace(/^-/, ''), isDescending: sort.startsWith('-') } : null
}

export function sortGrid(label: string, { key, isDescending }: Sorting): void {
  changeGrid(label, { sort: `${isDescending ? '-' : ''}${key}`, top: 0 })
}

/** A choice of the table's toolbar, one of `all`. */
export function gridChoice<T extends string>(label: string, name: string, all: readonly T[], fallback: T): T {
  const chosen = view.grids[label]?.choices?.[name]
  return all.includes(chosen as T) ? (chosen as T) : fallback
}

/** The fallback needs no place in the address. */
export function chooseInGrid(label: string, name: string, value: string, fallback = ''): void {
  const choices = { ...view.grids[label]?.choices, [name]: value === fallback ? '' : value }
  changeGrid(label, { choices, top: 0 })
}

/** The row whose details are shown; empty: none. */
export function gridRow(label: string): string {
  return view.grids[label]?.choices?.row ?? ''
}

export function pickGridRow(label: string, row: string): void {
  changeGrid(label, { choices: { ...view.grids[label]?.choices, row } })
}
