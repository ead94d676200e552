// Copying to the clipboard and downloading files.

/** Pages over plain HTTP from other machines have no clipboard API, only the old command. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text)
    return
  }
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

export function saveFile(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** A file name without characters that file systems reject. */
export function fileName(...words: string[]): string {
  return words.join('-').replaceAll(/[^\w.-]+/g, '_')
}
