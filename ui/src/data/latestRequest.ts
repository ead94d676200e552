// Aborts the previous request for the same data when a new one begins.

export class LatestRequest {
  #current: AbortController | null = null

  begin(): AbortSignal {
    this.#current?.abort()
    this.#current = new AbortController()
    return this.#current.signal
  }

  cancel(): void {
    this.#current?.abort()
    this.#current = null
  }
}
