import ArgumentParser
import CoherenceCore
import CoherenceModelCode
import Foundation

/// Writes `@Entity` classes for a model file.
struct Generate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes @Entity classes for a Core Data model file.",
    discussion: """
      Writes a source file for each entity and each composite of the model, and a file that lists the classes. A file \
      with the same text is not touched. A file without the header of a generated file is not replaced, unless --force \
      is given. Warnings and errors go to the error stream. Exit codes: 0 when the files are up to date, 1 when they \
      are not, 64 for wrong arguments.
      """)

  @Argument(help: ArgumentHelp("An .xcdatamodeld or .xcdatamodel package.", valueName: "model"))
  var model: String

  @Option(name: .shortAndLong, help: ArgumentHelp("The folder for the sources.", valueName: "folder"))
  var output = "."

  @Option(help: "class: a whole class for each entity; base: a base class for each, and a class of your own.")
  var style = CodeStyle.class

  @Option(help: "The access level of the classes.")
  var access = CodeAccess.internal

  @Flag(help: "Replace files without the header of a generated file.")
  var force = false

  @Flag(help: "Print the names of the files and the warnings as JSON.")
  var json = false

  func run() throws {
    let report: CodeReport
    do {
      report = try ModelCode.write(
        model: URL(fileURLWithPath: model), into: URL(fileURLWithPath: output, isDirectory: true),
        options: CodeOptions(style: style, access: access), force: force)
    } catch {
      printError("error: \((error as? CoherenceError)?.message ?? "\(error)")")
      throw ExitCode.failure
    }
    if json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      print(String(decoding: try encoder.encode(report), as: UTF8.self))
    } else {
      for name in report.written { print(name.onOneLine) }
    }
    for sentence in report.sentences { printError(sentence) }
    if !report.refused.isEmpty { throw ExitCode.failure }
  }

  private func printError(_ line: String) { FileHandle.standardError.write(Data("\(line.onOneLine)\n".utf8)) }
}

extension CodeStyle: @retroactive ExpressibleByArgument {}
extension CodeAccess: @retroactive ExpressibleByArgument {}
