// One upload: sends its files one by one with progress, then starts processing on the server.
import { totalBytes, type UploadFile } from '../model/uploads'
import * as api from './api'
import { ApiError } from './api'

const SPEED_WINDOW_MS = 2_000
const CONNECTION_LOST =
  'Connection lost: the server stopped, the file changed, or it exceeds the upload limit (--upload-limit).'

export interface FileState {
  path: string
  size: number
  sent: number
  error: string | null
}

export class Upload {
  files: FileState[] = $state([])
  state: 'new' | 'sending' | 'done' | 'failed' | 'canceled' = $state('new')
  error: string | null = $state(null)
  isNameTaken = $state(false) // by another profile
  speed = $state(0) // bytes per second, over the last samples
  readonly total: number
  sent = $derived(this.files.reduce((sum, file) => sum + file.sent, 0))
  #items: UploadFile[]
  #id: string | null = null
  #request: XMLHttpRequest | null = null
  #samples: { at: number; sent: number }[] = []

  constructor(items: UploadFile[]) {
    this.#items = items
    this.total = totalBytes(items)
    this.files = items.map((item) => ({ path: item.path, size: item.file.size, sent: 0, error: null }))
  }

  /** Returns true when all files are uploaded and processing has started. */
  async send(name: string, force: boolean): Promise<boolean> {
    this.state = 'sending'
    this.error = null
    this.isNameTaken = false
    for (const file of this.files) Object.assign(file, { sent: 0, error: null })
    try {
      this.#id = await api.createUpload(name, force)
      if (this.#isCanceled()) return await this.#discard()
      for (const [at, item] of this.#items.entries()) {
        await this.#sendFile(item, this.files[at]!)
        if (this.#isCanceled()) return await this.#discard()
      }
      await api.processUpload(this.#id)
      this.state = 'done'
      return true
    } catch (failure) {
      if (!this.#isCanceled()) {
        this.state = 'failed'
        this.error = (failure as Error).message
        this.isNameTaken = failure instanceof ApiError && failure.status === 409 && this.#id === null
      }
      return this.#discard()
    }
  }

  cancel(): void {
    this.state = 'canceled'
    this.#request?.abort()
  }

  #isCanceled(): boolean {
    return this.state === 'canceled'
  }

  /** Deletes an incomplete upload from the server. */
  async #discard(): Promise<false> {
    const id = this.#id
    this.#id = null
    if (id) await api.cancelUpload(id).catch(() => {})
    return false
  }

  async #sendFile(item: UploadFile, state: FileState): Promise<void> {
    try {
      await this.#putFile(api.uploadFileUrl(this.#id!, item.path), item.file, (sent) => {
        state.sent = sent
        this.#measure()
      })
      state.sent = state.size
    } catch (failure) {
      if (this.#isCanceled()) return
      state.error = (failure as Error).message
      throw failure
    }
  }

  /** XMLHttpRequest, because fetch does not report upload progress. */
  #putFile(url: string, file: File, progress: (sent: number) => void): Promise<void> {
    return new Promise((done, fail) => {
      const request = new XMLHttpRequest()
      this.#request = request
      request.open('PUT', url)
      request.upload.onprogress = (event) => progress(Math.min(event.loaded, file.size))
      request.onload = () => {
        if (request.status < 300) return done()
        fail(new ApiError(errorMessage(request), request.status))
      }
      request.onerror = () => fail(new ApiError(CONNECTION_LOST, 0))
      request.onabort = () => done()
      request.send(file)
    })
  }

  #measure(): void {
    const at = performance.now()
    this.#samples.push({ at, sent: this.sent })
    while (this.#samples.length > 2 && at - this.#samples[0]!.at > SPEED_WINDOW_MS) this.#samples.shift()
    const first = this.#samples[0]!
    if (at > first.at) this.speed = ((this.sent - first.sent) * 1000) / (at - first.at)
  }
}

function errorMessage(request: XMLHttpRequest): string {
  try {
    const response = JSON.parse(request.responseText) as { error?: unknown }
    if (typeof response.error === 'string') return response.error
  } catch {
    // Not Kymo's own response.
  }
  return `The server responded with status ${request.status}`
}
