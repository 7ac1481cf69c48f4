public import CoherenceModelFiles
import CoherenceCore

/// Writes `@Entity` classes for a model file.
///
/// ```swift
/// let code = try ModelCode(ModelFile(contentsOf: url), source: "Music.xcdatamodeld").generate()
/// ```
///
/// The same file and options give the same bytes. The sources are laid out as `swift format` lays them out with its
/// default settings. May be used on any thread.
public struct ModelCode: Sendable {
  private let plan: CodePlan

  /// Makes a generator.
  ///
  /// - Parameters:
  ///   - file: The model file.
  ///   - source: The name of the file for the first line of each source, without a folder, so that the sources are the
  ///     same on every machine.
  ///   - options: The form of the classes.
  public init(_ file: ModelFile, source: String, options: CodeOptions = CodeOptions()) {
    plan = CodePlan(file, options: options, source: source.filter { !$0.isNewline })
  }

  /// Writes the sources: a file for each class, for each structure of a composite, and for the model.
  ///
  /// - Throws: `CoherenceError` with the code `invalidModel`, listing every name and value of the model file that a
  ///   source cannot have.
  public func generate() throws -> GeneratedCode {
    let parts = try parts()
    var files = parts.types.map {
      GeneratedFile("\($0.name).swift", text($0.lines, needsFoundation: $0.needsFoundation))
    }
    if plan.options.style == .base {
      files += plan.file.entities.map { entity in
        let lines = importLines(needsFoundation: false) + [""] + EntityCode(entity: entity, plan: plan).subclass
        return GeneratedFile(
          "\(plan.className(of: entity)).swift", lines.joined(separator: "\n") + "\n", isWrittenOnce: true)
      }
    }
    return GeneratedCode(files: files, warnings: parts.warnings)
  }

  /// Writes all sources into a single file, for builds that must know the names of files before the model is read.
  ///
  /// - Throws: `CoherenceError` with the code `invalidModel`, as ``generate()``, and for the style ``CodeStyle/base``,
  ///   whose classes of the program are files of their own.
  public func generate(into name: String) throws -> GeneratedCode {
    guard plan.options.style == .class else {
      throw CoherenceError(
        .invalidModel,
        "The style 'base' writes files for the program's own classes; use the style 'class' for one file.")
    }
    let parts = try parts()
    let lines = Array(parts.types.map(\.lines).joined(separator: [""]))
    let file = GeneratedFile(name, text(lines, needsFoundation: parts.types.contains(where: \.needsFoundation)))
    return GeneratedCode(files: [file], warnings: parts.warnings)
  }

  /// A generated type.
  private struct TypeText {
    var name: String
    var lines: [String]
    var needsFoundation = false
  }

  /// The types of all sources in their order, or an error with all faults.
  private func parts() throws -> (types: [TypeText], warnings: [String]) {
    var faults = NameFaults(plan: plan).sentences
    var warnings = plan.file.withoutReportedParts.warnings
    var types: [TypeText] = []
    func add(_ name: String, _ result: CodePart) {
      faults += result.faults
      warnings += result.warnings
      types.append(TypeText(name: name, lines: result.lines, needsFoundation: result.needsFoundation))
    }
    for entity in plan.file.entities {
      add(plan.declaredName(of: entity), EntityCode(entity: entity, plan: plan).declaration())
    }
    for structure in plan.structures {
      add(structure.name, CompositeCode(name: structure.name, parts: structure.parts, plan: plan).declaration())
    }
    let list = ModelListCode(plan: plan)
    add(list.name, CodePart(lines: list.lines, warnings: list.warnings))
    guard faults.isEmpty else { throw CoherenceError(.invalidModel, faults.joined(separator: " ")) }
    return (types, warnings)
  }

  private func text(_ lines: [String], needsFoundation: Bool) -> String {
    let head = [GeneratedFile.header(of: plan.source)] + importLines(needsFoundation: needsFoundation) + [""]
    return (head + lines).joined(separator: "\n") + "\n"
  }

  private func importLines(needsFoundation: Bool) -> [String] {
    let access = plan.options.access.prefix
    return ["\(access)import CoherenceModelMacros"] + (needsFoundation ? ["\(access)import Foundation"] : [])
  }
}
