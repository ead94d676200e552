// Files from drag and drop or a file dialog, as a list with paths; dropped folders are traversed.
import type { UploadFile } from '../model/uploads'

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
