// Of several requests for the same thing only the newest counts: the ones before are called off.

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
