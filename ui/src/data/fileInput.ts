// Files from drag and drop or a file dialog, as a list with paths; dropped folders are traversed.
import { compressionOf, kindOf, type Told, type UploadFile } from '../model/uploads'

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
