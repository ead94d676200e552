// Whether the server responds. Requests that only read wait until it does, so that every panel recovers when it is back.

const RETRY_MS = 2_000

class Connection {
  isLost = $state(false)
  #back: Promise<void> | null = null

  /** Resolves when the server responds again; rejects when the signal is aborted before. */
  async returned(signal?: AbortSignal | null): Promise<void> {
    this.#back ??= this.#wait()
    const aborted = new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }))
    await Promise.race([this.#back, aborted])
  }

  async #wait(): Promise<void> {
    // At once: a server that is there has only closed an old connection.
    while (!(await this.#responds())) {
      this.isLost = true
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
    this.isLost = false
    this.#back = null
  }

  #responds(): Promise<boolean> {
    return fetch('api/v1/health', { cache: 'no-store' }).then(() => true, () => false)
  }
}

export const connection = new Connection()
