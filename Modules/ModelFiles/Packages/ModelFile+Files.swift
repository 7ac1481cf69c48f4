import CoherenceCore
public import Foundation

extension ModelFile {
  /// Reads a model from the current version of an `.xcdatamodeld` package, from an `.xcdatamodel` package, or from a
  /// file with the text of a model.
  ///
  /// - Throws: ``/CoherenceCore/ErrorCode/modelNotFound`` for a missing file; ``/CoherenceCore/ErrorCode/invalidModel``
  ///   for an unreadable file, naming the file, the line and the element.
  public init(contentsOf url: URL) throws {
    switch url.pathExtension {
    case "xcdatamodeld": self = try ModelPackage(contentsOf: url).current
    case "xcdatamodel": self = try ModelFile(version: url, named: url.deletingPathExtension().lastPathComponent)
    case "momd", "mom":
      throw CoherenceError(
        .invalidModel,
        "The model '\(url.path)' is compiled; add the .xcdatamodeld package itself to the resources, with the rule copy."
      )
    default: self = try ModelFile(xml: try PackageFiles.data(at: url), path: url.path)
    }
  }

  /// Reads an `.xcdatamodel` package.
  init(version url: URL, named name: String) throws {
    let contents = url.appendingPathComponent("contents")
    guard FileManager.default.fileExists(atPath: contents.path) else {
      throw CoherenceError(
        .modelNotFound,
        "The model package '\(url.path)' has no file 'contents'. Open and save a package of Xcode 3 with a later Xcode."
      )
    }
    self = try ModelFile(xml: try PackageFiles.data(at: contents), named: name, path: contents.path)
  }

  /// Writes the file as a package that Xcode opens.
  ///
  /// The text is read again before it is written, so that nothing is lost without an error.
  ///
  /// - Parameter url: An `.xcdatamodel` package, or an `.xcdatamodeld` package, whose current version is replaced. A
  ///   package that does not exist is made; a new `.xcdatamodeld` has one version of the package's name.
  /// - Throws: ``/CoherenceCore/ErrorCode/invalidModel`` for a text that XML cannot have;
  ///   ``/CoherenceCore/ErrorCode/inputOutput`` for another extension, and errors of the file system.
  public func write(to url: URL) throws {
    let base = url.deletingPathExtension().lastPathComponent
    switch url.pathExtension {
    case "xcdatamodel": try PackageFiles.write(try checkedText(), to: url.appendingPathComponent("contents"))
    case "xcdatamodeld":
      let existing = PackageFiles.isDirectory(url) ? try ModelPackage(contentsOf: url) : nil
      let version = existing.map { $0.currentVersion ?? ($0.versions.count == 1 ? $0.versions[0].name : base) } ?? base
      try ModelPackage(name: base, versions: [.init(version, self)], currentVersion: version).write(to: url)
    default:
      throw CoherenceError(
        .inputOutput,
        "The model cannot be written to '\(url.path)': the extension is neither xcdatamodeld nor xcdatamodel.")
    }
  }

  /// The text of the file, after a check that reading it returns the same file.
  func checkedText() throws -> String {
    let text = xml
    var same = try ModelFile(xml: Data(text.utf8), named: name)
    same.omissions = omissions
    guard same == self else {
      throw CoherenceError(
        .invalidModel,
        "The model file cannot be written: a name or a text of the model is empty although the format requires it, or "
          + "has characters that XML does not have.")
    }
    return text
  }
}
