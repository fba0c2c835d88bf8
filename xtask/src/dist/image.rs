//! An OCI image as a folder (image-spec 1.1, "image layout"): the program alone, for several machines.
//!
//! The layer has the program, a place for its records and one for its sockets; there is no shell and no library. Equal
//! programs give equal bytes.

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// Writes the image of `programs`, each with the name of its machine, to `folder`. Files in it have the time `epoch`.
pub(super) fn write(folder: &Path, programs: &[(&str, Vec<u8>)], epoch: u64) -> Result<()> {
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let keep = |media: &str, bytes: &[u8]| -> Result<Value> {
        let digest = sha256(bytes);
        fs::write(blobs.join(&digest), bytes)?;
        let media = format!("application/vnd.oci.image.{media}");
        Ok(json!({ "mediaType": media, "digest": format!("sha256:{digest}"), "size": bytes.len() }))
    };
    let keep_json =
        |media: &str, value: &Value| keep(media, serde_json::to_string(value)?.as_bytes());
    let mut manifests = Vec::new();
    for (machine, program) in programs {
        let layer = layer(program, epoch)?;
        let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
        packed.write_all(&layer)?;
        let platform = json!({ "architecture": machine, "os": "linux" });
        let config = keep_json(
            "config.v1+json",
            &json!({
                "architecture": machine,
                "os": "linux",
                "config": {
                    "User": "65532:65532",
                    "Env": ["PATH=/usr/bin", "HOME=/data"],
                    "Entrypoint": ["/usr/bin/wirebench"],
                    "WorkingDir": "/data",
                },
                "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer))] },
            }),
        )?;
        let layers = [keep("layer.v1.tar+gzip", &packed.finish()?)?];
        let mut manifest = keep_json(
            "manifest.v1+json",
            &json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers }),
        )?;
        manifest["platform"] = platform;
        manifests.push(manifest);
    }
    let index = |manifests: &[Value]| json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    // One image for all machines, which is pulled by its name.
    let mut all = keep_json("index.v1+json", &index(&manifests))?;
    all["annotations"] = json!({ "org.opencontainers.image.ref.name": super::VERSION });
    fs::write(folder.join("index.json"), index(&[all]).to_string())?;
    Ok(fs::write(folder.join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?)
}

/// The root file system, as an archive.
fn layer(program: &[u8], epoch: u64) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    let folders = [("data/", 0o1777), ("tmp/", 0o1777), ("usr/", 0o755), ("usr/bin/", 0o755)];
    for (path, mode) in folders {
        archive.append_data(&mut header(EntryType::Directory, mode, 0, epoch), path, &[][..])?;
    }
    let mut file = header(EntryType::Regular, 0o755, program.len() as u64, epoch);
    archive.append_data(&mut file, "usr/bin/wirebench", program)?;
    Ok(archive.into_inner()?)
}

fn header(kind: EntryType, mode: u32, size: u64, epoch: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(epoch);
    header
}

/// The SHA-256 of `bytes` in hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read as _;
    use tar::Archive;

    /// Reads the bytes that a descriptor names, and checks their size and hash.
    fn blob(folder: &Path, descriptor: &Value) -> Vec<u8> {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let bytes = fs::read(folder.join("blobs/sha256").join(digest)).unwrap();
        assert_eq!(descriptor["size"], bytes.len());
        assert_eq!(sha256(&bytes), digest);
        bytes
    }

    fn json_of(folder: &Path, descriptor: &Value) -> Value {
        serde_json::from_slice(&blob(folder, descriptor)).unwrap()
    }

    #[test]
    fn an_image_leads_from_its_index_to_the_program_of_each_machine() {
        let folder = tempfile::tempdir().unwrap();
        let programs = [("amd64", b"one".to_vec()), ("arm64", b"another".to_vec())];
        write(folder.path(), &programs, 7).unwrap();
        let index: Value =
            serde_json::from_slice(&fs::read(folder.path().join("index.json")).unwrap()).unwrap();
        let images = json_of(folder.path(), &index["manifests"][0]);
        assert_eq!(images["manifests"].as_array().unwrap().len(), 2);
        for ((machine, program), image) in
            programs.iter().zip(images["manifests"].as_array().unwrap())
        {
            assert_eq!(image["platform"]["architecture"], *machine);
            let manifest = json_of(folder.path(), image);
            let config = json_of(folder.path(), &manifest["config"]);
            assert_eq!(config["architecture"], *machine);
            let packed = blob(folder.path(), &manifest["layers"][0]);
            let mut layer = Vec::new();
            GzDecoder::new(&packed[..]).read_to_end(&mut layer).unwrap();
            let expected = format!("sha256:{}", sha256(&layer));
            assert_eq!(config["rootfs"]["diff_ids"], json!([expected]));
            let mut found = Vec::new();
            for entry in Archive::new(&layer[..]).entries().unwrap() {
                let mut entry = entry.unwrap();
                let (mode, path) =
                    (entry.header().mode().unwrap(), entry.path().unwrap().display().to_string());
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).unwrap();
                found.push((path, mode, bytes));
            }
            assert_eq!(
                found.last().unwrap(),
                &("usr/bin/wirebench".to_owned(), 0o755, program.clone())
            );
            assert!(found.contains(&("tmp/".to_owned(), 0o1777, Vec::new())), "{found:?}");
        }
    }

    #[test]
    fn equal_programs_give_equal_images() {
        let image = || {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &[("amd64", b"one".to_vec())], 7).unwrap();
            fs::read(folder.path().join("index.json")).unwrap()
        };
        assert_eq!(image(), image());
    }
}
