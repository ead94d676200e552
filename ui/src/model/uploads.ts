// What is uploaded: the kinds of captures, the files that are sent and those that are not, the name that is proposed.

export interface KindInfo {
  label: string
  tells: string
  accept: string
  isFolder: boolean
  isSeveral: boolean
}

export const KINDS = {
  files: {
    label: 'Individual files',
    tells: 'NEFF and NTFF files, and the source files they were made from, if you like: files, a folder or a .tar.gz.',
    accept: '', isFolder: false, isSeveral: true,
  },
  directory: {
    label: 'Directory',
    tells: 'A system profile, a JAX session, a rank directory or the output of kymo inspect.',
    accept: '', isFolder: true, isSeveral: true,
  },
  xplane: {
    label: 'XPlane file',
    tells: 'One .xplane.pb, as the JAX, TensorFlow and PyTorch/XLA profilers write it.',
    accept: '.pb', isFolder: false, isSeveral: false,
  },
  kineto: {
    label: 'Kineto trace',
    tells: 'One .json or .json.gz of torch.profiler, or another Chrome trace.',
    accept: '.json,.gz', isFolder: false, isSeveral: false,
  },
  explorer: {
    label: 'Explorer files',
    tells: 'What Neuron Explorer writes: JSON of a system or device profile, or Parquet tables.',
    accept: '.json,.gz,.parquet', isFolder: false, isSeveral: true,
  },
} satisfies Record<string, KindInfo>

export type Kind = keyof typeof KINDS
export const KIND_NAMES = Object.keys(KINDS) as Kind[]

/** A file and where it lies in the upload. */
export interface UploadFile {
  path: string
  file: File
}

export interface Skipped {
  path: string
  why: string
}

const DEEPEST = 12
const LONGEST_PART = 200
const LONGEST_PATH = 1000

function whyNot(path: string): string | null {
  const parts = path.split('/')
  const bytes = (text: string) => new TextEncoder().encode(text).length
  if (parts.some((part) => part.startsWith('.'))) return 'names that begin with a dot are not uploaded'
  if (parts.length > DEEPEST) return `lies more than ${DEEPEST} folders deep`
  if (parts.some((part) => bytes(part) > LONGEST_PART) || bytes(path) > LONGEST_PATH) return 'its name is too long'
  if (parts.some((part) => /[\x00-\x1f\x7f\\]/.test(part))) return 'its name has a backslash or control characters in it'
  return null
}

/** What can be sent, in the order of paths, and what cannot. A path that comes twice is the later file. */
export function sortOut(files: UploadFile[]): { taken: UploadFile[]; skipped: Skipped[] } {
  const taken = new Map<string, UploadFile>()
  const skipped: Skipped[] = []
  for (const file of files) {
    const why = whyNot(file.path)
    if (why) skipped.push({ path: file.path, why })
    else taken.set(file.path, file)
  }
  return { taken: [...taken.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), skipped }
}

const ENDINGS = /(\.(xplane\.pb|pt\.trace\.json|trace\.json|json|pftrace|neff|ntff|parquet|tar|tgz|pb))?(\.gz|\.zst)?$/i

function withoutEnding(name: string): string {
  return name.replace(ENDINGS, '') || name
}

/** A name for the profile: the folder's, or the first file's without its ending. */
export function proposeName(files: UploadFile[]): string {
  const first = files[0]?.path ?? ''
  const name = first.includes('/') ? first.slice(0, first.indexOf('/')) : withoutEnding(first)
  return name.replace(/^[.@]+/, '').replaceAll(/[@/\\]/g, '_').slice(0, 150)
}

/** What kind of capture these files look like. */
export function guessKind(files: UploadFile[]): Kind {
  if (files.some((file) => file.path.includes('/'))) return 'directory'
  const names = files.map((file) => file.path.toLowerCase())
  if (names.length === 1 && names[0]!.endsWith('.pb')) return 'xplane'
  if (names.some((name) => name.endsWith('.parquet'))) return 'explorer'
  if (names.length === 1 && /\.json(\.gz)?$/.test(names[0]!)) return 'kineto'
  if (names.every((name) => /\.json(\.gz)?$/.test(name))) return 'explorer'
  return 'files'
}

export function totalBytes(files: UploadFile[]): number {
  return files.reduce((sum, file) => sum + file.file.size, 0)
}

/** A folder is sent as what is in it, so that the server sees the same as with `kymo view -d FOLDER`. */
export function withoutTop(files: UploadFile[]): UploadFile[] {
  const top = files[0]?.path.split('/')[0] + '/'
  if (files.length === 0 || !files.every((file) => file.path.startsWith(top))) return files
  return files.map((file) => ({ ...file, path: file.path.slice(top.length) }))
}
