import CoherenceCore
import CoherenceModelCode
import Foundation

/// The command that the build-tool plugin runs: writes the classes of a model file into a single source file.
///
/// `coherence generate` in `Tools` is the command for people. This command reads its two arguments by itself, because a
/// package that depends on the library resolves the dependencies of everything that a plugin runs.
@main
struct ModelTool {
  static func main() {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 2, let model = arguments.first, let source = arguments.last else {
      print("usage: coherence-model-tool MODEL SOURCE", to: 2)
      exit(64)
    }
    do {
      let report = try ModelCode.write(model: URL(fileURLWithPath: model), intoFile: URL(fileURLWithPath: source))
      for sentence in report.sentences { print(sentence, to: 2) }
    } catch {
      print("error: \((error as? CoherenceError)?.message ?? "\(error)")", to: 2)
      exit(1)
    }
  }

  private static func print(_ line: String, to descriptor: Int32) {
    FileHandle(fileDescriptor: descriptor).write(Data("\(line)\n".utf8))
  }
}
