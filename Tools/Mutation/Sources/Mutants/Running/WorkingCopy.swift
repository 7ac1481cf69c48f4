import Foundation

/// A copy of the repository in which mutants are built. The repository itself is never written.
struct WorkingCopy {
  let root: URL
  /// The copy is kept between runs, so that a build compiles only changed files.
  let copy: URL

  init(root: URL) {
    self.root = root
    copy = root.appendingPathComponent(".build/mutants/source")
  }

  /// The directory for the output of builds and tests.
  var logs: URL { root.appendingPathComponent(".build/mutants/logs") }

  /// Makes the copy equal to the repository, except for some files.
  ///
  /// An equal file is not written, because a build compares the times of files.
  ///
  /// - Parameter replaced: The text of files that differ from the repository or exist in the copy only, by path.
  func refresh(replacing replaced: [String: String] = [:]) throws {
    let files = FileManager.default
    try files.createDirectory(at: copy, withIntermediateDirectories: true)
    try files.createDirectory(at: logs, withIntermediateDirectories: true)
    let paths = try listedPaths()
    try removeFiles(except: paths.union(replaced.keys))
    for path in paths where replaced[path] == nil { try copyFile(path) }
    for (path, text) in replaced { try write(text, to: path) }
    try copyDependencies()
  }

  /// The paths of the files of the repository, committed or not, without ignored files.
  private func listedPaths() throws -> Set<String> {
    let listing = Command(["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], in: root)
    let paths = try listing.output().split(separator: "\0").map(String.init)
    let existing = (paths + ["Package.resolved"]).filter {
      FileManager.default.fileExists(atPath: root.appendingPathComponent($0).path)
    }
    return Set(existing)
  }

  private func removeFiles(except paths: Set<String>) throws {
    let files = FileManager.default
    guard let found = files.enumerator(at: copy, includingPropertiesForKeys: [.isDirectoryKey]) else { return }
    let prefix = copy.resolvingSymlinksInPath().path + "/"
    for case let url as URL in found {
      if url.lastPathComponent == ".build" {
        found.skipDescendants()
        continue
      }
      let isDirectory = try url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true
      let path = String(url.resolvingSymlinksInPath().path.dropFirst(prefix.count))
      if !isDirectory, !paths.contains(path) { try files.removeItem(at: url) }
    }
  }

  private func copyFile(_ path: String) throws {
    let files = FileManager.default
    let (source, target) = (root.appendingPathComponent(path), copy.appendingPathComponent(path))
    if files.contentsEqual(atPath: source.path, andPath: target.path) { return }
    try files.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
    if files.fileExists(atPath: target.path) { try files.removeItem(at: target) }
    try files.copyItem(at: source, to: target)
  }

  private func write(_ text: String, to path: String) throws {
    let target = copy.appendingPathComponent(path)
    if (try? String(contentsOf: target, encoding: .utf8)) == text { return }
    try FileManager.default.createDirectory(
      at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: target)
  }

  /// Copies the resolved dependencies. Build products contain the path of their directory, so a copy cannot use them.
  private func copyDependencies() throws {
    let files = FileManager.default
    let build = copy.appendingPathComponent(".build")
    let source = root.appendingPathComponent(".build")
    guard !files.fileExists(atPath: build.path),
      files.fileExists(atPath: source.appendingPathComponent("checkouts").path)
    else { return }
    try files.createDirectory(at: build, withIntermediateDirectories: true)
    for name in ["checkouts", "repositories", "workspace-state.json"] {
      let item = source.appendingPathComponent(name)
      if files.fileExists(atPath: item.path) { try files.copyItem(at: item, to: build.appendingPathComponent(name)) }
    }
  }
}
