extension String {
  /// The names of a path, which the text separates by dots.
  ///
  /// Separated at Unicode scalars, because a combining mark at the beginning of a name joins the dot before it to one
  /// character.
  var pathNames: [String] {
    unicodeScalars.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
  }
}
