import Foundation

/// Reads the packages of a Debian system: real names, real people and a real graph of dependencies.
public struct PackageCatalog: Sendable {
  /// The file in which dpkg lists installed packages.
  public var statusFile = URL(fileURLWithPath: "/var/lib/dpkg/status")
  /// The location of apt's lists of available packages.
  public var listsDirectory = URL(fileURLWithPath: "/var/lib/apt/lists")

  public init() {}

  /// Whether this system has packages to read.
  public var isAvailable: Bool { FileManager.default.isReadableFile(atPath: statusFile.path) }

  /// The installed packages.
  public func installed() throws -> Catalog {
    Self.catalog(of: try candidates(in: statusFile))
  }

  /// The installed packages and the packages known to apt. An installed package replaces an available package of the
  /// same name.
  public func all() throws -> Catalog {
    var candidates = try candidates(in: statusFile)
    for list in try packageLists() { candidates += try self.candidates(in: list) }
    return Self.catalog(of: candidates)
  }

  /// apt's uncompressed lists, in the order of their names.
  private func packageLists() throws -> [URL] {
    guard FileManager.default.fileExists(atPath: listsDirectory.path) else { return [] }
    return try FileManager.default.contentsOfDirectory(at: listsDirectory, includingPropertiesForKeys: nil)
      .filter { $0.lastPathComponent.hasSuffix("_Packages") }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
  }

  private func candidates(in file: URL) throws -> [Candidate] {
    let data = try Data(contentsOf: file, options: .mappedIfSafe)
    return ControlParagraphs(data, fields: Candidate.fields).compactMap(Candidate.init)
  }

  /// Chooses among alternative dependencies, after all packages were read.
  private static func catalog(of candidates: [Candidate]) -> Catalog {
    let names = Set(candidates.map(\.record.name))
    return Catalog(
      candidates.map { candidate in
        var record = candidate.record
        record.depends = candidate.dependencies.flatMap { $0.filter(names.contains) }
        return record
      })
  }
}

/// A package before its dependencies are resolved.
private struct Candidate {
  static let fields = [
    "Package", "Status", "Version", "Section", "Architecture", "Installed-Size", "Description", "Maintainer",
    "Pre-Depends", "Depends",
  ]

  var record: PackageRecord
  /// Each entry lists the alternatives that satisfy one dependency.
  var dependencies: [[String]]

  /// `nil` if the paragraph does not describe a package, or describes a removed one.
  init?(_ paragraph: ControlParagraphs.Paragraph) {
    guard let name = paragraph["Package"], let version = paragraph["Version"] else { return nil }
    if let status = paragraph["Status"], !status.hasSuffix(" installed") { return nil }
    record = PackageRecord(
      name: name, version: version, section: paragraph["Section"] ?? "unknown",
      architecture: paragraph["Architecture"] ?? "all",
      installedSize: paragraph["Installed-Size"].flatMap { Int($0) } ?? 0,
      summary: paragraph["Description"]?.split(separator: "\n").first.map(String.init) ?? "",
      maintainer: MaintainerRecord(control: paragraph["Maintainer"] ?? ""), depends: [])
    dependencies = ["Pre-Depends", "Depends"].compactMap { paragraph[$0] }.flatMap(Self.dependencies)
  }

  /// Reads `libc6 (>= 2.34), python3:any | python3-minimal`.
  private static func dependencies(_ text: String) -> [[String]] {
    text.split(separator: ",").map { dependency in
      dependency.split(separator: "|").compactMap { alternative in
        alternative.split { " \t\n(:[".contains($0) }.first.map(String.init)
      }
    }
  }
}

extension MaintainerRecord {
  /// Reads `Name <address>`.
  fileprivate init(control text: String) {
    guard let open = text.lastIndex(of: "<"), let close = text.lastIndex(of: ">"), open < close else {
      self.init(name: text.isEmpty ? "Unknown" : text, email: "")
      return
    }
    let name = text[..<open].trimmingCharacters(in: .whitespaces)
    self.init(name: name, email: String(text[text.index(after: open)..<close]))
  }
}
