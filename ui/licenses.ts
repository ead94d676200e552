// Writes licenses.txt beside the built UI: the notice of every package that a part of it comes from.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Plugin } from 'vite'

// The package's folder that a module lies in; undefined for our own.
function packageOf(module: string): string | undefined {
  const path = module.replace(/^\0/, '').replace(/\?.*$/, '')
  if (!path.includes('/node_modules/')) return undefined
  for (let folder = dirname(path); folder !== '/'; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file) && 'version' in JSON.parse(readFileSync(file, 'utf8'))) return folder
  }
  return undefined
}

function notice(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'license'].map((one) => join(folder, one)).find(existsSync)
  if (!file) throw new Error(`${name} has no license file; a build may not contain it`)
  return `${name} ${version}\n\n${readFileSync(file, 'utf8').trim()}\n`
}

export function licenses(): Plugin {
  return {
    name: 'licenses',
    generateBundle(_, bundle) {
      const folders = new Set<string>()
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue
        for (const [module, { renderedLength }] of Object.entries(chunk.modules)) {
          const folder = renderedLength > 0 ? packageOf(module) : undefined
          if (folder) folders.add(folder)
        }
      }
      const source = [...folders].map(notice).sort().join('\n' + '-'.repeat(72) + '\n\n')
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source })
    },
  }
}
