import ArgumentParser
import CoherenceCore
import Foundation

/// Writes to the streams of the process without a buffer, so that a reader of a pipe gets each line at once.
enum Output {
  static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
  /// Writes one line for people. The texts of a store, such as an error of a server, cannot control the terminal.
  static func line(_ text: String) { write(text.onOneLine + "\n") }
  /// Writes JSON, on one line or on several.
  static func json(_ value: JSON, isPretty: Bool) throws { write(try value.text(isPretty: isPretty) + "\n") }
  static func error(_ text: String) { FileHandle.standardError.write(Data("error: \(text.onOneLine)\n".utf8)) }

  /// Writes a table: the names of the columns, and the rows.
  static func table(_ columns: [String], _ rows: [[String]]) {
    for line in TextTable(rows: [columns] + rows).lines { self.line(line) }
  }

  /// Writes a line for each name and its value.
  static func details(_ pairs: [(name: String, value: String)]) {
    let width = pairs.map(\.name.count).max() ?? 0
    for (name, value) in pairs { line(name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + value) }
  }
}

/// An error in the user's input, with a message.
struct UsageError: Error {
  let sentence: String
  init(_ sentence: String) { self.sentence = sentence }
}

/// A command that prints the message of an error and ends with the exit code 1.
protocol ReportingCommand: AsyncParsableCommand {
  func perform() async throws
}

extension ReportingCommand {
  func run() async throws {
    do {
      try await perform()
    } catch let exit as ExitCode {
      throw exit
    } catch {
      Output.error((error as? UsageError)?.sentence ?? (error as? CoherenceError)?.message ?? "\(error)")
      throw ExitCode.failure
    }
  }
}

/// The choice between a text for people and JSON.
struct OutputArguments: ParsableArguments {
  @Flag(help: "Print JSON with sorted keys. Each object has all of its keys.")
  var json = false

  /// Writes JSON, or calls a block that writes for people.
  func write(_ value: JSON, orElse human: () -> Void) throws {
    if json { try Output.json(value, isPretty: true) } else { human() }
  }
}
