// Device profiles of the open system profile.
import { deviceProfiles, readDeviceList, type DeviceProfile } from '../model/details'
import * as api from './api'

const SQL = `SELECT attributes_json FROM Track WHERE attributes_json LIKE '%device_profile_list%'`

export async function findDeviceProfiles(profile: string): Promise<DeviceProfile[]> {
  const [response, profiles] = await Promise.all([api.runSql(profile, SQL), api.listProfiles()])
  return deviceProfiles(readDeviceList(response.rows.map((row) => String(row[0]))), profiles, profile)
}
