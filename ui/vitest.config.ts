// Tests of the UI: of its parts beside them (src/**/*.test.ts), of the whole in a browser (tests/ui).
import { fileURLToPath } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// Files that take longest begin, so that no worker is left with one of them at the end.
const LONGEST = ['figures', 'coverage', 'figures-tabs', 'figures-panes', 'charts', 'timeline-events', 'timeline', 'device', 'tabs', 'details', 'analysis', 'uploads', 'manager', 'tensorboard']

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/ui/${name}.test.ts`))
      return at < 0 ? LONGEST.length : at
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  plugins: [svelte()],
  test: {
    include: ['ui/src/**/*.test.ts', 'tests/ui/**/*.test.ts'],
    testTimeout: 180_000, // tests wait for what a page shows, in seconds even where others use the machine
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    isolate: false, // files share what they import: browsers, and a server
    sequence: { sequencer: LongestFirst },
    maxWorkers: 2,
    minWorkers: 1,
  },
})
