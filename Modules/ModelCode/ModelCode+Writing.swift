import CoherenceCore
import CoherenceModelFiles
public import Foundation

extension ModelCode {
  /// Reads a model file and writes its sources into a folder; the work of `coherence generate`.
  ///
  /// - Parameters:
  ///   - model: An `.xcdatamodeld` package, whose current version is read, or an `.xcdatamodel` package.
  ///   - folder: The folder for the sources, made if it is missing.
  ///   - options: The form of the classes.
  ///   - force: Whether files without the header of generated files are replaced, except for the classes of the program
  ///     that the style ``CodeStyle/base`` writes once.
  /// - Throws: The errors of `ModelFile(contentsOf:)`, ``generate()`` and ``CodeFolder/write(_:source:force:)``.
  public static func write(
    model: URL, into folder: URL, options: CodeOptions = CodeOptions(), force: Bool = false
  ) throws -> CodeReport {
    let source = model.standardizedFileURL.lastPathComponent
    let code = try ModelCode(ModelFile(contentsOf: model), source: source, options: options).generate()
    return try CodeFolder(folder).write(code, source: source.filter { !$0.isNewline }, force: force)
  }

  /// Reads a model file and writes all of its sources into a single file; the work of the build-tool plugin.
  ///
  /// - Parameters:
  ///   - model: An `.xcdatamodeld` package, whose current version is read, or an `.xcdatamodel` package.
  ///   - file: The file, which is replaced if its text differs.
  ///   - access: The access level of the classes.
  /// - Throws: The errors of `ModelFile(contentsOf:)`, ``generate(into:)`` and ``CodeFolder/write(_:source:force:)``.
  public static func write(model: URL, intoFile file: URL, access: CodeAccess = .internal) throws -> CodeReport {
    let source = model.standardizedFileURL.lastPathComponent
    let generator = try ModelCode(ModelFile(contentsOf: model), source: source, options: CodeOptions(access: access))
    let code = try generator.generate(into: file.lastPathComponent)
    var report = try CodeFolder(file.deletingLastPathComponent()).write(code, source: source, force: true)
    report.orphaned = []
    return report
  }
}
