/// The result of a run that writes generated files. Encodes to JSON with the names of its properties.
public struct CodeReport: Sendable, Hashable, Codable {
  /// The names of the files with new text, in order.
  public var written: [String] = []
  /// The names of the untouched files: files with the generated text already, and the program's own files.
  public var unchanged: [String] = []
  /// The names of files without the header of generated files. If the list has an element, the run wrote no file.
  public var refused: [String] = []
  /// The names of generated files that belong to no part of the model file any more. The run does not remove them.
  public var orphaned: [String] = []
  /// Sentences about parts of the model file that the sources express in another way or not at all.
  public var warnings: [String] = []

  /// Makes an empty report.
  public init() {}

  /// A sentence for each warning, refused file and orphaned file, for the error stream of a tool.
  public var sentences: [String] {
    warnings.map { "warning: \($0)" }
      + orphaned.map { "warning: '\($0)' was generated for a part that the model file has no more; remove the file." }
      + refused.map {
        "error: '\($0)' has no header of a generated file, so no file was written; move the file, or pass --force."
      }
  }
}
