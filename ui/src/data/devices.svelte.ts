// Device profiles of the open system profile: those of its table, or those that a JSON profile lists.
import { deviceProfiles, readDeviceList, type DeviceEntry, type DeviceProfile } from '../model/details'
import * as api from './api'
import { schema } from './schema.svelte'
import { toObjects } from './sql.svelte'

const TABLE_SQL = (more: string) => `SELECT device_profile_name AS name, nc_id AS core, instance_id AS instance, process_id AS process${more}
  FROM DeviceProfileList ORDER BY instance, core, name`
const MORE = ', lnc_idx AS logical, model_name AS model' // profiles of earlier versions lack these
const TRACKS_SQL = `SELECT attributes_json FROM Track WHERE attributes_json LIKE '%device_profile_list%'`

async function listedDevices(profile: string): Promise<DeviceEntry[]> {
  if (schema.has('DeviceProfileList')) {
    const sql = TABLE_SQL(schema.hasColumn('DeviceProfileList', 'model_name') ? MORE : '')
    return toObjects<DeviceEntry>(await api.runSql(profile, sql))
  }
  return readDeviceList((await api.runSql(profile, TRACKS_SQL)).rows.map((row) => String(row[0])))
}

export async function findDeviceProfiles(profile: string): Promise<DeviceProfile[]> {
  const [entries, profiles] = await Promise.all([listedDevices(profile), api.listProfiles()])
  return deviceProfiles(entries, profiles, profile)
}
