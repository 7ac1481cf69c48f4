extension ModelFile {
  /// The former names of a part, from the file and from the other versions of its package, the latest first.
  ///
  /// - Parameters:
  ///   - identifier: The renaming identifier of the part.
  ///   - userInfo: The user info of the part, with its ``FileSetting``.
  ///   - path: `Entity` or `Entity.property`; for a part of a composite with the name of the part behind.
  package func formerNames(_ identifier: String?, _ userInfo: [String: String], at path: String) -> [String] {
    let own = path.split(separator: ".").last.map(String.init)
    var names: [String] = []
    for name in FileSetting.formerNames(identifier, userInfo) + (source.formerNames[path] ?? [])
    where name != own && !names.contains(name) {
      names.append(name)
    }
    return names
  }
}
