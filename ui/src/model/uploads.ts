// Uploads: what the files are, which of them are accepted, and the suggested profile name.

/** What a file is, told from its first bytes; the server tells it again, from all of them. */
export type Kind = 'xplane' | 'kineto' | 'chrome' | 'explorer' | 'parquet' | 'neuron' | 'recording' | 'source' | 'unknown'

export const KIND_TITLES: Record<Kind, string> = {
  xplane: 'XPlane (JAX, TensorFlow, PyTorch/XLA)', kineto: 'Kineto trace (PyTorch)', chrome: 'Chrome trace', explorer: 'Neuron JSON',
  parquet: 'Parquet table', neuron: 'NEFF or NTFF', recording: 'Kymo recording', source: 'source file', unknown: 'unknown',
}

export type Compression = 'gzip' | 'zstd' | null

export function compressionOf(head: Uint8Array): Compression {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip'
  return head[0] === 0x28 && head[1] === 0xb5 && head[2] === 0x2f && head[3] === 0xfd ? 'zstd' : null
}

function kindOfJson(text: string): Kind {
  if (/"deviceProperties"|"torch|"cat"\s*:\s*"(cpu_op|kernel|user_annotation)"|"distributedInfo"/.test(text)) return 'kineto'
  return /"traceEvents"|"ph"\s*:/.test(text) ? 'chrome' : 'explorer'
}

/** The kind of a file from its name and its first bytes, decompressed; without bytes from the name alone. */
export function kindOf(path: string, head: Uint8Array | null): Kind {
  const name = path.toLowerCase().replace(/\.(gz|zst)$/, '')
  if (/(^|\/)source\//.test(path) || /\.(py|c|cc|cpp|h|tar|tgz)$/.test(name)) return 'source'
  if (/\.(neff|ntff)$/.test(name)) return 'neuron'
  if (/(^|\/)(ntrace|trace_info|cpu_util|host_mem)\.pb$/.test(name) || /(^|\/)rings\//.test(name)) return 'recording'
  if (head && head.length > 0) {
    const text = new TextDecoder().decode(head)
    if (text.startsWith('PAR1')) return 'parquet'
    if (/^\s*[[{]/.test(text)) return kindOfJson(text)
  }
  if (/\.pb$/.test(name)) return 'xplane'
  if (/\.parquet$/.test(name)) return 'parquet'
  if (/trace\.json$/.test(name)) return 'chrome'
  return /\.json$/.test(name) ? 'explorer' : 'unknown'
}

export interface Told {
  kind: Kind
  compression: Compression
}

/** "2 × XPlane …, gzip; 1 × unknown": the most frequent first. */
export function describeKinds(told: readonly Told[]): string {
  const counts = new Map<string, number>()
  for (const { kind, compression } of told) {
    const title = [KIND_TITLES[kind], compression].filter(Boolean).join(', ')
    counts.set(title, (counts.get(title) ?? 0) + 1)
  }
  const sorted = [...counts].sort((a, b) => b[1] - a[1])
  return sorted.map(([title, count]) => (told.length > 1 ? `${count} × ${title}` : title)).join('; ')
}

/** A file and its path in the upload. */
export interface UploadFile {
  path: string
  file: File
}

export interface Skipped {
  path: string
  reason: string
}

const SOURCES = 'source/' // the folder of source files in an upload

const isArchive = (path: string) => /\.(tar|tar\.gz|tgz)$/i.test(path)

/** Source files that are picked with a NEFF or an NTFF go into their folder, where the server looks for them. */
export function placeSources(files: UploadFile[]): UploadFile[] {
  const isDevice = files.some(({ path }) => kindOf(path, null) === 'neuron')
  const isLoose = ({ path }: UploadFile) => !path.includes('/') && kindOf(path, null) === 'source'
  return isDevice ? files.map((file) => (isLoose(file) ? { ...file, path: SOURCES + file.path } : file)) : files
}

/** Archives of source files, which are uploaded as the files in them. */
export function isSourceArchive({ path }: UploadFile): boolean {
  return path.startsWith(SOURCES) && isArchive(path)
}

const MAX_DEPTH = 12
const MAX_NAME_BYTES = 200
const MAX_PATH_BYTES = 1000

function rejectionReason(path: string): string | null {
  const parts = path.split('/')
  const bytes = (text: string) => new TextEncoder().encode(text).length
  if (parts.some((part) => part === '..')) return 'path leads outside its folder'
  if (parts.some((part) => part.startsWith('.'))) return 'hidden files are not uploaded'
  if (parts.length > MAX_DEPTH) return `nested more than ${MAX_DEPTH} folders deep`
  if (parts.some((part) => bytes(part) > MAX_NAME_BYTES) || bytes(path) > MAX_PATH_BYTES) return 'name too long'
  if (parts.some((part) => /[\x00-\x1f\x7f\\]/.test(part))) return 'name contains a backslash or control characters'
  return null
}

/** Splits files into accepted ones, sorted by path, and skipped ones. Of duplicate paths the last file wins. */
export function partitionFiles(files: UploadFile[]): { accepted: UploadFile[]; skipped: Skipped[] } {
  const accepted = new Map<string, UploadFile>()
  const skipped: Skipped[] = []
  for (const file of files) {
    const reason = rejectionReason(file.path)
    if (reason) skipped.push({ path: file.path, reason })
    else accepted.set(file.path, file)
  }
  return { accepted: [...accepted.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), skipped }
}

const EXTENSIONS = /(\.(xplane\.pb|pt\.trace\.json|trace\.json|json|pftrace|neff|ntff|parquet|tar|tgz|pb))?(\.gz|\.zst)?$/i

function withoutExtension(name: string): string {
  return name.replace(EXTENSIONS, '') || name
}

/** A name for the profile: that of the folder, or of the first file without its extension. */
export function suggestName(files: UploadFile[]): string {
  const first = (files.find(({ path }) => !path.startsWith(SOURCES)) ?? files[0])?.path ?? ''
  const name = first.includes('/') ? first.slice(0, first.indexOf('/')) : withoutExtension(first)
  return name.replace(/^[.@]+/, '').replaceAll(/[@/\\]/g, '_').slice(0, 150)
}

export function totalBytes(files: UploadFile[]): number {
  return files.reduce((sum, file) => sum + file.file.size, 0)
}

/** Removes the common top folder, so that the server sees the same paths as with `kymo view -d FOLDER`. */
export function stripTopFolder(files: UploadFile[]): UploadFile[] {
  const top = files[0]?.path.split('/')[0] + '/'
  if (files.length === 0 || !files.every((file) => file.path.startsWith(top))) return files
  return files.map((file) => ({ ...file, path: file.path.slice(top.length) }))
}
