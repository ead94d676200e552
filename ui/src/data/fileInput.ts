// What is dropped on the page or chosen in a dialog, as a list of files with their paths; folders are walked through.
import type { UploadFile } from '../model/uploads'

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((done, fail) => entry.file(done, fail))
}

/** A folder is read piece by piece: Chromium gives a hundred entries at a time. */
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
  // The items are gone after the first await: take their entries before.
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
