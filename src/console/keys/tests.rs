use super::*;

fn keys() -> (tempfile::TempDir, Keys) {
    let dir = tempfile::tempdir().unwrap();
    let keys = Keys::load(dir.path()).unwrap();
    (dir, keys)
}

#[test]
fn a_signed_value_comes_back_and_any_change_is_refused() {
    let (_dir, keys) = keys();
    let signed = keys.sign("visitors", b"ada");
    assert_eq!(keys.verify("visitors", &signed).unwrap(), b"ada");
    assert_eq!(keys.verify("owner", &signed), None, "signed for another purpose");
    for at in 0..signed.len() {
        let mut bytes = signed.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        let seen = keys.verify("visitors", &changed);
        // The last character of unpadded base64 has bits that mean nothing; the decoder refuses all but one spelling.
        assert!(seen.is_none(), "changed at {at}: {changed}");
    }
    for broken in ["", ".", "a", "YWRh", "YWRh."] {
        assert_eq!(keys.verify("visitors", broken), None, "{broken:?}");
    }
}

#[test]
fn another_key_refuses_it() {
    let (_a, first) = keys();
    let (_b, second) = keys();
    assert_eq!(second.verify("visitors", &first.sign("visitors", b"ada")), None);
    assert_ne!(first.label(), second.label());
}

#[test]
fn files_are_private_and_kept_over_a_restart() {
    let (dir, first) = keys();
    for file in [Keys::COOKIE, Keys::LOCAL, Keys::OWNER] {
        let mode = fs::metadata(dir.path().join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{file}");
    }
    let again = Keys::load(dir.path()).unwrap();
    assert_eq!(again.verify("v", &first.sign("v", b"x")).unwrap(), b"x");
    let token = Keys::read_token(dir.path(), Keys::LOCAL).unwrap();
    assert_eq!(first.caller(token.expose_secret()), Some(Caller::Local));
    let token = Keys::read_token(dir.path(), Keys::OWNER).unwrap();
    assert_eq!(again.caller(token.expose_secret()), Some(Caller::Owner));
    assert_eq!(again.caller(""), None);
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let (dir, _) = keys();
    let path = dir.path().join(Keys::COOKIE);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(matches!(Keys::load(dir.path()), Err(KeyError::Open { mode: 0o644, .. })));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, "short").unwrap();
    assert!(matches!(Keys::load(dir.path()), Err(KeyError::Content { .. })));
}

#[test]
fn the_owners_link_works_once_and_a_wrong_token_does_not_use_it_up() {
    let link = OwnerLink::fresh();
    let token = link.path().strip_prefix("/owner?token=").unwrap().to_owned();
    assert!(!link.redeem("wrong"));
    assert!(!link.redeem(""));
    assert!(link.redeem(&token));
    assert!(!link.redeem(&token));
}
