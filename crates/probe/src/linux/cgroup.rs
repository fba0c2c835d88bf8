//! The limits of a control group on CPU and memory (cgroups(7)), version 2 or 1.
//!
//! Limits of ancestor groups bind too, so the groups from ours up to the root are read and the tightest limit counts.
//! The usual mount points are assumed.

use super::files::Files;
use units::Bytes;

/// The limit on CPU time in thousandths of a CPU, e.g. 1500 for one and a half; `Ok(None)` where nothing limits it.
pub(super) fn cpu_milli_max(files: &dyn Files) -> Result<Option<u32>, String> {
    let groups = files.read(GROUPS)?;
    let v2 = v2_folders(&groups)
        .filter_map(|folder| cpu_max(&files.read(&format!("{folder}/cpu.max")).ok()?));
    let v1 = v1_folders(&groups, "cpu").filter_map(|folder| {
        let read = |name| files.read(&format!("{folder}/{name}")).ok();
        milli(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?)
    });
    Ok(v2.chain(v1).min())
}

/// The limit on memory; `Ok(None)` where nothing limits it.
pub(super) fn memory_max(files: &dyn Files) -> Result<Option<Bytes>, String> {
    let groups = files.read(GROUPS)?;
    let v2 = v2_folders(&groups).map(|folder| format!("{folder}/memory.max"));
    let v1 = v1_folders(&groups, "memory").map(|folder| format!("{folder}/memory.limit_in_bytes"));
    let limit =
        |path: String| files.read(&path).ok()?.parse().ok().filter(|bytes| *bytes < NO_LIMIT);
    Ok(v2.chain(v1).filter_map(limit).min().map(Bytes))
}

/// The number of periods in which our group, or an ancestor, had used up its CPU time; `None` where the kernel does not
/// count them.
pub(super) fn throttled_periods(files: &dyn Files) -> Option<u64> {
    let groups = files.read(GROUPS).ok()?;
    let folders = v2_folders(&groups).chain(v1_folders(&groups, "cpu"));
    let count = |folder: String| {
        let stat = files.read(&format!("{folder}/cpu.stat")).ok()?;
        stat.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.trim().parse().ok())
    };
    folders.filter_map(count).max()
}

const GROUPS: &str = "/proc/self/cgroup";

/// Version 1 writes "no limit" as the highest multiple of the page size; no machine has an exbibyte.
const NO_LIMIT: u64 = 1 << 60;

/// `QUOTA PERIOD`, both in microseconds; `max` is no quota.
fn cpu_max(text: &str) -> Option<u32> {
    let (quota, period) = text.split_once(' ')?;
    milli(quota, period)
}

fn milli(quota: &str, period: &str) -> Option<u32> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    u32::try_from(quota.checked_mul(1000)?.checked_div(period)?).ok()
}

/// The folders of our group and its ancestors, where version 2 is mounted alone or beside version 1.
fn v2_folders(groups: &str) -> impl Iterator<Item = String> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"));
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .into_iter()
        .flat_map(move |mount| upwards(mount, path))
}

/// The same on the mount of a version 1 controller; one mount may have several controllers (`cpu,cpuacct`).
fn v1_folders(groups: &str, controller: &str) -> impl Iterator<Item = String> {
    let line = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|known| known == controller).then_some((controllers, path))
    });
    line.into_iter().flat_map(|(controllers, path)| {
        upwards(&format!("/sys/fs/cgroup/{controllers}"), Some(path))
    })
}

/// `mount` and every folder on the way down to `path`. A path as seen from outside a container does not exist inside
/// it; there the mount itself is our group.
fn upwards(mount: &str, path: Option<&str>) -> Vec<String> {
    let Some(path) = path else { return Vec::new() };
    let mut folders = vec![mount.to_owned()];
    let mut folder = mount.to_owned();
    for name in path.split('/').filter(|name| !name.is_empty()) {
        folder = format!("{folder}/{name}");
        folders.push(folder.clone());
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::fixture::Fixture;

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        #[rustfmt::skip]
        let table = [
            // Version 2 with limits in the parent slice.
            (vec![(GROUPS, "0::/user.slice/job"), ("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000"),
                  ("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000"), ("/sys/fs/cgroup/user.slice/job/memory.max", "max"),
                  ("/sys/fs/cgroup/user.slice/memory.max", "536870912")],
             Ok((Some(1500), Some(Bytes(536_870_912))))),
            // Version 2 inside a container with its own namespace.
            (vec![(GROUPS, "0::/"), ("/sys/fs/cgroup/cpu.max", "50000 100000"), ("/sys/fs/cgroup/memory.max", "1073741824")],
             Ok((Some(500), Some(Bytes(1_073_741_824))))),
            (vec![(GROUPS, "0::/"), ("/sys/fs/cgroup/cpu.max", "max 100000"), ("/sys/fs/cgroup/memory.max", "max")],
             Ok((None, None))),
            // Version 1 beside version 2, no limits.
            (vec![(GROUPS, "4:memory:/job\n1:cpu:/\n0::/"), ("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712"),
                  ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"), ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")],
             Ok((None, None))),
            // Version 1 in a container that sees the path of the host.
            (vec![(GROUPS, "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc"),
                  ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000"), ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000"),
                  ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456")],
             Ok((Some(2000), Some(Bytes(268_435_456))))),
            // Nonsense limits nothing.
            (vec![(GROUPS, "0::/"), ("/sys/fs/cgroup/cpu.max", "1 0"), ("/sys/fs/cgroup/memory.max", "many")], Ok((None, None))),
            (vec![(GROUPS, "")], Ok((None, None))),
            (vec![], Err("/proc/self/cgroup: entity not found".to_owned())),
        ];
        for (files, limits) in table {
            let fixture = Fixture::new(&files);
            let found = cpu_milli_max(&fixture).and_then(|cpu| Ok((cpu, memory_max(&fixture)?)));
            assert_eq!(found, limits, "{files:?}");
        }
    }
}
