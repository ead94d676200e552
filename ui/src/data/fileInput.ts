// Files from drag and drop or a file dialog, as a list with paths; dropped folders are traversed.
import { readTar } from '../model/tar'
import { compressionOf, isSourceArchive, kindOf, type Told, type UploadFile } from '../model/uploads'

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((done, fail) => entry.file(done, fail))
}

/** readEntries returns batches: Chromium gives a hundred entries at a time. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, fail) => reader.readEntries(done, fail))
    if (some.length === 0) return all
    all.push(...some)
  }
}

export async function filesFromDrop(transfer: DataTransfer): Promise<UploadFile[]> {
  // The items are invalid after the first await: get their entries before.
  const waiting = [...transfer.items]
    .map((item) => item.webkitGetAsEntry())
    .filter((entry) => entry !== null)
    .map((entry) => ({ entry, path: entry.name }))
  const files: UploadFile[] = []
  for (let at = 0; at < waiting.length; at++) {
    const { entry, path } = waiting[at]!
    if (entry.isDirectory) {
      for (const inner of await entriesOf(entry as FileSystemDirectoryEntry)) {
        waiting.push({ entry: inner, path: `${path}/${inner.name}` })
      }
    } else {
      files.push({ path, file: await fileOf(entry as FileSystemFileEntry) })
    }
  }
  return files
}

export function filesFromInput(list: FileList): UploadFile[] {
  return [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }))
}

const MAX_UNPACKED = 256 * 2 ** 20

/** All bytes of a file, decompressed; throws where they are too many. */
async function unpack(file: File): Promise<Uint8Array> {
  const compression = compressionOf(new Uint8Array(await file.slice(0, 4).arrayBuffer()))
  const stream: ReadableStream<Uint8Array> = compression === 'gzip' ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream()
  const parts: Uint8Array[] = []
  let size = 0
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > MAX_UNPACKED) throw new Error(`It is larger than ${MAX_UNPACKED / 2 ** 20} MiB`)
    parts.push(value)
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer())
}

/** Puts the files of source archives in their place. Throws a sentence about an archive that cannot be read. */
export async function unpackSources(files: UploadFile[]): Promise<UploadFile[]> {
  const all = await Promise.all(files.map(async (file) => {
    if (!isSourceArchive(file)) return [file]
    const folder = file.path.slice(0, file.path.lastIndexOf('/') + 1)
    try {
      return readTar(await unpack(file.file)).map(({ path, bytes }) => ({ path: folder + path, file: new File([bytes as BlobPart], path) }))
    } catch (failure) {
      throw new Error(`${file.file.name}: ${(failure as Error).message}`)
    }
  }))
  return all.flat()
}

const HEAD_BYTES = 16_384

/** The first bytes of a file, decompressed where the browser can. */
async function headOf(file: File): Promise<{ head: Uint8Array | null; compression: Told['compression'] }> {
  const raw = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer())
  const compression = compressionOf(raw)
  if (compression === null) return { head: raw, compression }
  if (compression === 'zstd') return { head: null, compression } // browsers cannot decompress it
  const reader = new Blob([raw]).stream().pipeThrough(new DecompressionStream('gzip')).getReader()
  // The piece ends in the middle: what was decompressed before is enough.
  const first = await reader.read().catch(() => ({ value: undefined }))
  await reader.cancel().catch(() => {})
  return { head: first.value ?? null, compression }
}

export async function tellKind({ path, file }: UploadFile): Promise<Told> {
  const { head, compression } = await headOf(file).catch(() => ({ head: null, compression: null }))
  return { kind: kindOf(path, head), compression }
}
