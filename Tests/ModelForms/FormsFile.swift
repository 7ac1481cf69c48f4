import Foundation

/// The text of the model file, for models that differ from it.
enum FormsFile {
  static func text() throws -> String {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let path = "Resources/FormsModel.xcdatamodeld/FormsModel.xcdatamodel/contents"
    return try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
  }

  static func data(_ text: String) -> Data { Data(text.utf8) }
}
