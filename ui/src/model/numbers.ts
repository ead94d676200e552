// Number formatting for the whole UI.

/** What is unknown is blank, and says so to whoever points at it. */
export const NOT_RECORDED = 'not recorded'

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const some = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4 })

export function formatCount(count: number): string {
  return whole.format(count)
}

/** "2 rows", "1 row", "1 copy". */
export function countOf(count: number, noun: string): string {
  const one = noun.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')
  return `${formatCount(count)} ${count === 1 ? one : noun}`
}

export function formatNumber(value: number): string {
  return Number.isInteger(value) ? whole.format(value) : some.format(value)
}

export function formatBytes(bytes: number): string {
  return withUnit(bytes, ['B', 'kB', 'MB', 'GB', 'TB'])
}

export function formatFlops(flops: number): string {
  return withUnit(flops, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP'])
}

function withUnit(amount: number, units: string[]): string {
  let at = 0
  let value = amount
  while (Math.abs(value) >= 1000 && at < units.length - 1) {
    value /= 1000
    at++
  }
  return `${at === 0 ? whole.format(value) : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${units[at]}`
}

/** A p-value: "0.0123", "< 0.0001". */
export function formatProbability(value: number): string {
  return value < 0.0001 ? '< 0.0001' : value.toFixed(4)
}

export function formatShare(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}
