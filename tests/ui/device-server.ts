// A system profile and the device profile of its execution: the GPT of the examples, compiled and run on the software NeuronCore.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DATA, KYMO, ROOT, Server } from './fixtures'

export const SYSTEM = 'gpt'
export const DEVICE = 'gpt_profile'

export function run(line: string[], environment: Record<string, string> = {}): void {
  const done = spawnSync(KYMO, line, { env: { ...process.env, ...environment } })
  if (done.status !== 0) throw new Error(`kymo ${line.join(' ')}: ${done.stderr}`)
}

/** A training step in JAX, and where its source is. */
export const JAX_STEP = join(DATA, 'device/gpt_step.hlo.pb')
export const JAX_SOURCES = join(ROOT, 'examples')

/** Makes the device profile of a graph or an HLO module: of all its ranks. */
export function makeDeviceProfile(workspace: string, name: string, graph: string, options: string[] = []): void {
  const capture = mkdtempSync(join(tmpdir(), 'kymo-device-'))
  run(['neff', 'build', graph, '-o', join(capture, 'model.neff')])
  run(['capture', '-n', join(capture, 'model.neff'), '-s', join(capture, 'profile.ntff')])
  run(['view', '-d', capture, '--display-name', name, '--data-path', workspace, '--ingest-only', ...options])
  rmSync(capture, { recursive: true, force: true })
}

/** Makes the profiles of an all-gather between 32 ranks: NAME of the system, NAME_ranks of all ranks, and one of each. */
export function makeCollectives(workspace: string, name: string): void {
  const capture = mkdtempSync(join(tmpdir(), 'kymo-collectives-'))
  const test = ['nccom-test', 'allg', '-b', '512kb', '-e', '512kb', '-r', '32', '-n', '10', '-d', 'fp32', '-w', '1', '-f', '512']
  run(['inspect', '-o', capture, KYMO, ...test])
  run(['view', '-d', capture, '--display-name', name, '--data-path', workspace, '--ingest-only'])
  rmSync(capture, { recursive: true, force: true })
}

/** Makes both profiles in a workspace: NAME and NAME_profile. */
export function makeDeviceProfiles(workspace: string, name: string): void {
  const capture = mkdtempSync(join(tmpdir(), 'kymo-device-'))
  const neff = join(capture, 'gpt.neff')
  run(['neff', 'build', join(ROOT, 'examples/gpt12.json'), '-o', neff])
  run(['capture', '-n', neff, '-s', join(capture, 'profile.ntff')], { NEURON_RT_INSPECT_ENABLE: '1', NEURON_RT_INSPECT_OUTPUT_DIR: capture })
  run(['view', '-d', capture, '--display-name', name, '--data-path', workspace, '--ingest-only'])
  rmSync(capture, { recursive: true, force: true })
}

export async function startDeviceServer(): Promise<Server> {
  const workspace = mkdtempSync(join(tmpdir(), 'kymo-ui-'))
  makeDeviceProfiles(workspace, SYSTEM)
  return Server.over(workspace)
}
