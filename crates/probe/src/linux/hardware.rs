//! The CPU and its settings: model, hyper-threads, governor, hypervisor, mitigations.

use super::files::Files;
use super::text::{field, number_list};

/// The vendor's name of the CPU; its place differs between architectures.
pub(super) fn cpu_model(files: &dyn Files) -> Result<String, String> {
    let cpuinfo = files.read(CPUINFO)?;
    let named = ["model name", "Model Name", "cpu model", "cpu", "uarch"]
        .into_iter()
        .find_map(|name| field(&cpuinfo, name).filter(|value| !value.is_empty()));
    if let Some(name) = named {
        return Ok(name.to_owned());
    }
    if let Some(name) = arm_model(&cpuinfo) {
        return Ok(name);
    }
    // Texts of the device tree are NUL-terminated.
    match files.read("/proc/device-tree/model") {
        Ok(board) => Ok(board.trim_end_matches('\0').to_owned()),
        Err(_) => Err(format!("{CPUINFO} names no model")),
    }
}

/// The model of an ARM CPU, which is given as numbers instead of a name.
fn arm_model(cpuinfo: &str) -> Option<String> {
    let (implementer, part) = (field(cpuinfo, "CPU implementer")?, field(cpuinfo, "CPU part")?);
    let known = ARM_PARTS.iter().find(|(of, number, _)| (*of, *number) == (implementer, part));
    Some(match known {
        Some((_, _, name)) => (*name).to_owned(),
        None => format!("ARM implementer {implementer} part {part}"),
    })
}

/// Cores of servers, laptops and boards that benchmarks run on (MIDR_EL1: implementer, part number).
const ARM_PARTS: [(&str, &str, &str); 12] = [
    ("0x41", "0xd03", "Cortex-A53"),
    ("0x41", "0xd08", "Cortex-A72"),
    ("0x41", "0xd0b", "Cortex-A76"),
    ("0x41", "0xd0c", "Neoverse-N1"),
    ("0x41", "0xd40", "Neoverse-V1"),
    ("0x41", "0xd49", "Neoverse-N2"),
    ("0x41", "0xd4f", "Neoverse-V2"),
    ("0x61", "0x022", "Apple M1 Icestorm"),
    ("0x61", "0x023", "Apple M1 Firestorm"),
    ("0x61", "0x032", "Apple M2 Blizzard"),
    ("0x61", "0x033", "Apple M2 Avalanche"),
    ("0xc0", "0xac3", "Ampere-1"),
];

/// The CPUs that are online.
pub(super) fn cpus_online(files: &dyn Files) -> Result<Vec<usize>, String> {
    let path = "/sys/devices/system/cpu/online";
    if let Some(cpus) = files.read(path).ok().and_then(|text| number_list(&text)) {
        return Ok(cpus);
    }
    // CPUs that are offline are not in cpuinfo.
    let cpuinfo = files.read(CPUINFO)?;
    let number =
        |line: &str| line.strip_prefix("processor")?.split_once(':')?.1.trim().parse().ok();
    let cpus: Vec<usize> = cpuinfo.lines().filter_map(number).collect();
    if cpus.is_empty() { Err(format!("neither {path} nor {CPUINFO} lists CPUs")) } else { Ok(cpus) }
}

/// True if two CPUs may be hyper-threads of one core now.
pub(super) fn smt(files: &dyn Files) -> Result<bool, String> {
    match files.read("/sys/devices/system/cpu/smt/active").as_deref() {
        Ok("0") => Ok(false),
        Ok("1") => Ok(true),
        // Before Linux 4.19, the siblings show it.
        _ => {
            let path = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
            let siblings = files.read(path)?;
            number_list(&siblings)
                .map(|cpus| cpus.len() > 1)
                .ok_or_else(|| format!("{path}: {siblings:?}"))
        }
    }
}

/// The frequency governor of `cpus`; all names if they differ.
pub(super) fn governor(files: &dyn Files, cpus: &[usize]) -> Result<String, String> {
    let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let mut governors: Vec<String> =
        cpus.iter().filter_map(|&cpu| files.read(&path(cpu)).ok()).collect();
    governors.sort_unstable();
    governors.dedup();
    if governors.is_empty() {
        Err("no CPU has a governor: the frequency is fixed or the host's business".to_owned())
    } else {
        Ok(governors.join(", "))
    }
}

/// The hypervisor that runs this machine.
pub(super) fn hypervisor(files: &dyn Files) -> Result<String, String> {
    match hypervisor_name(files) {
        Some("") => return Err("bare metal by its product name".to_owned()),
        Some(name) => return Ok(name.to_owned()),
        None => {}
    }
    let cpuinfo = files.read(CPUINFO)?;
    // Only x86 has the flag, and every hypervisor there should set it.
    match field(&cpuinfo, "flags") {
        Some(flags) if flags.split_ascii_whitespace().any(|flag| flag == "hypervisor") => {
            Ok("unknown".to_owned())
        }
        Some(_) => Err("bare metal: the processor does not show one".to_owned()),
        None => Err("none shows itself, and this architecture would not say".to_owned()),
    }
}

fn hypervisor_name(files: &dyn Files) -> Option<&'static str> {
    let clock_sources =
        files.read("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    let sources = [
        files.read("/sys/hypervisor/type"),
        files.read("/sys/class/dmi/id/product_name"),
        files.read("/sys/class/dmi/id/sys_vendor"),
        files.read("/proc/device-tree/hypervisor/compatible"),
        clock_sources,
    ];
    let text = sources.into_iter().flatten().collect::<Vec<_>>().join("\n");
    HYPERVISORS.iter().find(|(sign, _)| text.contains(sign)).map(|(_, name)| *name)
}

/// Signs of a hypervisor, the most specific first: bare metal at Amazon says `Amazon EC2` too, but also `c7i.metal`.
/// The empty name means no hypervisor.
const HYPERVISORS: [(&str, &str); 16] = [
    (".metal", ""),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Parallels", "Parallels"),
    ("Apple Virtualization", "Apple"),
    ("BHYVE", "bhyve"),
    ("Virtual Machine", "Hyper-V"),
    ("hyperv_clocksource", "Hyper-V"),
    ("HVM domU", "Xen"),
    ("xen", "Xen"),
    ("Amazon EC2", "KVM"),
    ("Google Compute Engine", "KVM"),
    ("KVM", "KVM"),
    ("kvm", "KVM"),
    ("QEMU", "QEMU"),
    ("Standard PC", "QEMU"),
];

/// The active mitigations, each as `weakness: means`.
pub(super) fn mitigations(files: &dyn Files) -> Result<Vec<String>, String> {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let names = files.list(folder);
    if names.is_empty() {
        return Err(format!("{folder} is missing or empty"));
    }
    let mitigation = |name: String| {
        let state = files.read(&format!("{folder}/{name}")).ok()?;
        let means = state.strip_prefix("Mitigation:")?.split([';', ',']).next()?.trim();
        Some(format!("{name}: {means}"))
    };
    Ok(names.into_iter().filter_map(mitigation).collect())
}

const CPUINFO: &str = "/proc/cpuinfo";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::fixture::Fixture;

    #[test]
    fn cpu_models_of_many_architectures_are_found() {
        #[rustfmt::skip]
        let table = [
            ("processor\t: 0\nmodel\t\t: 167\nmodel name\t: Intel(R) Xeon(R) Processor\n", Some("Intel(R) Xeon(R) Processor")),
            ("processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", Some("Neoverse-N1")),
            ("processor\t: 0\nCPU implementer\t: 0x48\nCPU part\t: 0xd01\n",  Some("ARM implementer 0x48 part 0xd01")),
            ("processor\t: 0\nmodel name\t: ARMv7 Processor rev 4 (v7l)\nCPU part : 0xd03", Some("ARMv7 Processor rev 4 (v7l)")),
            ("processor\t: 0\ncpu\t\t: POWER9 (raw), altivec supported\n",    Some("POWER9 (raw), altivec supported")),
            ("processor\t: 0\nhart\t: 1\nisa\t: rv64imafdc\nuarch\t: sifive,u74-mc\n", Some("sifive,u74-mc")),
            ("system type\t: x\ncpu model\t\t: ICT Loongson-3 V0.4\n",        Some("ICT Loongson-3 V0.4")),
            ("processor\t: 0\nModel Name\t: Loongson-3A5000\n",               Some("Loongson-3A5000")),
            ("processor\t: 0\nmodel name\t: \n",                              None),
            ("",                                                              None),
        ];
        for (cpuinfo, model) in table {
            let found = cpu_model(&Fixture::new(&[(CPUINFO, cpuinfo)]));
            assert_eq!(found.as_deref().ok(), model, "{cpuinfo:?}");
        }
    }

    #[test]
    fn a_board_stands_in_for_a_cpu_without_a_name() {
        let files = Fixture::new(&[
            (CPUINFO, "processor\t: 0"),
            ("/proc/device-tree/model", "Raspberry Pi 4 Model B\0"),
        ]);
        assert_eq!(cpu_model(&files).as_deref(), Ok("Raspberry Pi 4 Model B"));
    }

    #[test]
    fn offline_cpus_are_left_out() {
        let cpuinfo = "processor\t: 0\nmodel name\t: x\n\nprocessor\t: 2\nmodel name\t: x\n";
        #[rustfmt::skip]
        let table = [
            (vec![("/sys/devices/system/cpu/online", "0,2-3")],                             Some(vec![0, 2, 3])),
            (vec![(CPUINFO, cpuinfo)],                                                      Some(vec![0, 2])),
            (vec![("/sys/devices/system/cpu/online", "?"), (CPUINFO, cpuinfo)],             Some(vec![0, 2])),
            (vec![(CPUINFO, "vendor_id : IBM/S390\nprocessor 0: version = FF")],            None),
            (vec![],                                                                        None),
        ];
        for (files, cpus) in table {
            assert_eq!(cpus_online(&Fixture::new(&files)).ok(), cpus, "{files:?}");
        }
    }

    #[test]
    fn hyper_threads_are_known_from_siblings_where_the_kernel_is_old() {
        let active = "/sys/devices/system/cpu/smt/active";
        let siblings = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
        #[rustfmt::skip]
        let table = [
            (vec![(active, "1")],                     Some(true)),
            (vec![(active, "0"), (siblings, "0-1")],  Some(false)),
            (vec![(siblings, "0,16")],                Some(true)),
            (vec![(siblings, "0")],                   Some(false)),
            (vec![],                                  None),
        ];
        for (files, smt_is) in table {
            assert_eq!(smt(&Fixture::new(&files)).ok(), smt_is, "{files:?}");
        }
    }

    #[test]
    fn governors_are_those_of_the_cpus_asked_about() {
        let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        let mut files = Fixture::new(&[]);
        for (cpu, governor) in [(0, "powersave"), (1, "performance"), (2, "performance")] {
            files.add(&path(cpu), governor);
        }
        assert_eq!(governor(&files, &[1, 2]).as_deref(), Ok("performance"));
        assert_eq!(governor(&files, &[0, 1, 9]).as_deref(), Ok("performance, powersave"));
        assert!(governor(&files, &[9]).is_err());
    }

    #[test]
    fn hypervisors_give_themselves_away() {
        let (vendor, product) = ("/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name");
        let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
        let (flagged, bare) = ("flags\t\t: fpu hypervisor lm\n", "flags\t\t: fpu hypervisors lm\n");
        #[rustfmt::skip]
        let table = [
            (vec![(CPUINFO, flagged), (clocks, "tsc kvm-clock")],                              Some("KVM")), // Firecracker
            (vec![(CPUINFO, flagged), (vendor, "Amazon EC2"), (product, "c7i.large")],         Some("KVM")),
            (vec![(CPUINFO, bare), (vendor, "Amazon EC2"), (product, "c7i.metal-24xl")],       None),
            (vec![(CPUINFO, flagged), (vendor, "Xen"), (product, "HVM domU"), (clocks, "xen tsc")], Some("Xen")),
            (vec![(CPUINFO, flagged), (vendor, "Microsoft Corporation"), (product, "Virtual Machine")], Some("Hyper-V")),
            (vec![(CPUINFO, bare), (vendor, "Microsoft Corporation"), (product, "Surface Laptop")], None),
            (vec![(CPUINFO, flagged), (vendor, "QEMU"), (product, "Standard PC (Q35 + ICH9, 2009)")], Some("QEMU")),
            (vec![(CPUINFO, flagged)],                                                         Some("unknown")),
            (vec![(CPUINFO, bare), (vendor, "Dell Inc."), (clocks, "tsc hpet acpi_pm")],       None),
            (vec![(CPUINFO, "Features : fp asimd\n")],                                         None), // ARM
            (vec![],                                                                           None),
        ];
        for (files, name) in table {
            assert_eq!(hypervisor(&Fixture::new(&files)).as_deref().ok(), name, "{files:?}");
        }
    }

    #[test]
    fn mitigations_that_are_switched_on_are_listed() {
        let folder = "/sys/devices/system/cpu/vulnerabilities";
        #[rustfmt::skip]
        let table = [
            (vec![("l1tf", "Not affected"), ("spectre_v2", "Mitigation: Retpolines; STIBP: disabled"), ("spec_store_bypass", "Vulnerable"),
                  ("mds", "Mitigation: Clear CPU buffers; SMT vulnerable"), ("vmscape", "Vulnerable: Clear CPU buffers attempted, no microcode")],
             Some(vec!["mds: Clear CPU buffers", "spectre_v2: Retpolines"])),
            (vec![("l1tf", "Not affected"), ("mds", "Vulnerable"), ("its", "Unknown")], Some(vec![])), // mitigations=off
            (vec![], None),
        ];
        for (weaknesses, switched_on) in table {
            let mut files = Fixture::new(&[]);
            for (name, state) in &weaknesses {
                files.add(&format!("{folder}/{name}"), state);
            }
            let expected =
                switched_on.map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(mitigations(&files).ok(), expected, "{weaknesses:?}");
        }
    }
}
