/// The lines of a variable or a type, and the sentences about it.
struct CodePart {
  var lines: [String] = []
  /// Sentences about parts of the model file that the lines express in another way or not at all.
  var warnings: [String] = []
  /// Sentences about parts of the model file for which no source can be written.
  var faults: [String] = []
  /// Whether the lines name a type of Foundation.
  var needsFoundation = false
  /// The variable as the parameter of an initializer.
  var parameter: String?
}
