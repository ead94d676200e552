// A system profile and the device profile of its execution: the GPT of the examples, compiled and run on the software NeuronCore.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT, Server } from './fixtures'

export const SYSTEM = 'gpt'
export const DEVICE = 'gpt_profile'

export function run(line: string[], environment: Record<string, string> = {}): void {
  const kymo = process.env.KYMO ?? join(ROOT, 'bin/kymo')
  const done = spawnSync(kymo, line, { env: { ...process.env, ...environment } })
  if (done.status !== 0) throw new Error(`kymo ${line.join(' ')}: ${done.stderr}`)
}

/** Makes the device profile of a graph: of all its ranks. */
export function makeDeviceProfile(workspace: string, name: string, graph: string): void {
  const capture = mkdtempSync(join(tmpdir(), 'kymo-device-'))
  run(['neff', 'build', graph, '-o', join(capture, 'model.neff')])
  run(['capture', '-n', join(capture, 'model.neff'), '-s', join(capture, 'profile.ntff')])
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
