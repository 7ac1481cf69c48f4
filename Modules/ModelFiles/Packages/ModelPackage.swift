import CoherenceCore
public import Foundation

/// The versions of a model: an `.xcdatamodeld` package.
///
/// ```swift
/// let package = try ModelPackage(contentsOf: url)
/// let model = try package.current.model()
/// ```
public struct ModelPackage: Sendable, Hashable {
  /// A version of the model.
  public struct Version: Sendable, Hashable {
    /// The name of the version: the name of its `.xcdatamodel` package without the extension.
    public var name: String
    /// The model of the version.
    public var file: ModelFile

    /// Makes a version.
    public init(_ name: String, _ file: ModelFile) {
      self.name = name
      self.file = file
    }
  }

  /// The name of the model: the name of the package without the extension.
  public var name: String
  /// The versions, sorted by name.
  public var versions: [Version]
  /// The name of the version that programs use; `nil` for the only version, or for the one with the package's name.
  public var currentVersion: String?

  /// Makes a package from its versions.
  public init(name: String, versions: [Version], currentVersion: String? = nil) {
    self.name = name
    self.versions = versions
    self.currentVersion = currentVersion
  }

  /// Reads an `.xcdatamodeld` package with all of its versions.
  ///
  /// - Throws: ``/CoherenceCore/ErrorCode/modelNotFound`` for a missing package or a package without versions;
  ///   ``/CoherenceCore/ErrorCode/invalidModel`` for an unreadable version.
  public init(contentsOf url: URL) throws {
    guard PackageFiles.isDirectory(url) else {
      throw CoherenceError(.modelNotFound, "The model package '\(url.path)' does not exist, or is not a directory.")
    }
    name = url.deletingPathExtension().lastPathComponent
    versions = []
    for item in PackageFiles.names(in: url) where item.hasSuffix(".xcdatamodel") {
      let file = try ModelFile(version: url.appendingPathComponent(item), named: name)
      versions.append(Version(String(item.dropLast(".xcdatamodel".count)), file))
    }
    // By the names themselves: with the extension, 'Music 2' would precede 'Music'.
    versions.sort { $0.name < $1.name }
    guard !versions.isEmpty else {
      throw CoherenceError(
        .modelNotFound, "The model package '\(url.path)' has no version, a directory with the extension xcdatamodel.")
    }
    currentVersion = try CurrentVersion.name(in: url)
  }

  /// The current version, with the former names that the other versions give to its entities and properties.
  ///
  /// - Throws: ``/CoherenceCore/ErrorCode/modelNotFound`` when the package has no version of the name of
  ///   ``currentVersion``, or several versions and no such name.
  public var current: ModelFile {
    get throws { try version(named: try currentName) }
  }

  /// Returns a version, with the former names that the other versions give to its entities and properties.
  ///
  /// - Throws: ``/CoherenceCore/ErrorCode/modelNotFound``, listing the versions.
  public func version(named name: String) throws -> ModelFile {
    guard let version = versions.first(where: { $0.name == name }) else { throw missing("has no version '\(name)'") }
    var file = version.file
    file.name = self.name
    let others = versions.filter { $0.name != name }.map(\.file)
    let history = RenamingHistory(of: file, others: others)
    file.source.formerNames = history.formerNames
    file.source.unknownRenamings = history.unknownRenamings
    return file
  }

  private var currentName: String {
    get throws {
      if let currentVersion { return currentVersion }
      if versions.count == 1 { return versions[0].name }
      guard versions.contains(where: { $0.name == name }) else {
        throw missing("names no current version in the file .xccurrentversion")
      }
      return name
    }
  }

  private func missing(_ reason: String) -> CoherenceError {
    let names = versions.map(\.name).sorted().joined(separator: ", ")
    return CoherenceError(
      .modelNotFound, "The model package '\(name)' \(reason); it has: \(names.isEmpty ? "none" : names).")
  }

  /// Writes the package: a directory with the extension `xcdatamodeld`, which Xcode opens. Other versions in the
  /// directory are left unchanged.
  ///
  /// - Throws: ``/CoherenceCore/ErrorCode/invalidModel`` for a text that XML cannot have, before any file is written;
  ///   ``/CoherenceCore/ErrorCode/inputOutput``.
  public func write(to url: URL) throws {
    let current = try currentName
    guard versions.contains(where: { $0.name == current }) else { throw missing("has no version '\(current)'") }
    // All texts are made before the first file is written: an invalid version must not leave a package of which a part
    // is new.
    let texts = try versions.map { (name: $0.name, text: try $0.file.checkedText()) }
    for version in texts {
      try PackageFiles.write(
        version.text,
        to: url.appendingPathComponent("\(version.name).xcdatamodel").appendingPathComponent("contents"))
    }
    try PackageFiles.write(CurrentVersion.text(current), to: url.appendingPathComponent(CurrentVersion.file))
  }
}
