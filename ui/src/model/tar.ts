// Tar archives: the files in them. Ustar, with the long names of GNU and pax.

const BLOCK = 512

export interface TarMember {
  path: string
  bytes: Uint8Array
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end))
}

/** Octal digits with spaces or NULs around them. */
function numberOf(bytes: Uint8Array): number {
  const digits = textOf(bytes).trim()
  return /^[0-7]*$/.test(digits) ? parseInt(digits || '0', 8) : NaN
}

/** Of the header's bytes, with spaces in place of the checksum. */
function checksum(header: Uint8Array): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0)
}

/** The path of a pax header: records of "length key=value\n". */
function paxPath(bytes: Uint8Array): string | null {
  for (let at = 0; at < bytes.length; ) {
    const length = parseInt(textOf(bytes.subarray(at, at + 20)), 10)
    if (!(length > 0)) return null
    const record = textOf(bytes.subarray(at, at + length)).replace(/^\d+ /, '')
    if (record.startsWith('path=')) return record.slice(5).replace(/\n$/, '')
    at += length
  }
  return null
}

function headerPath(header: Uint8Array): string {
  const name = textOf(header.subarray(0, 100))
  // GNU's own format has other fields in place of the prefix.
  const prefix = textOf(header.subarray(257, 263)) === 'ustar' && header[262] === 0 ? textOf(header.subarray(345, 500)) : ''
  return prefix ? `${prefix}/${name}` : name
}

/** The regular files of an archive. Throws where it is damaged or cut off. */
export function readTar(archive: Uint8Array): TarMember[] {
  const members: TarMember[] = []
  let longName: string | null = null
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const header = archive.subarray(at, at + BLOCK)
    if (numberOf(header.subarray(148, 156)) !== checksum(header)) throw new Error('The archive is damaged')
    const size = numberOf(header.subarray(124, 136))
    const bytes = archive.subarray(at + BLOCK, at + BLOCK + size)
    if (!(bytes.length === size)) throw new Error('The archive is truncated')
    const type = String.fromCharCode(header[156]!)
    if (type === 'x') longName = paxPath(bytes) ?? longName
    else if (type === 'L') longName = textOf(bytes)
    else {
      if (type === '0' || type === '\0') members.push({ path: (longName ?? headerPath(header)).replace(/^(\.?\/)+/, ''), bytes })
      longName = null
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
  return members
}
