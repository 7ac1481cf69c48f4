import Testing

/// Diagnostics of markers, modifiers and accessors of variables. Each expected text has the line, the message and the
/// corrections.
@Suite struct MarkerComplaintTests {
  /// The diagnostics of a member of an entity's class, which begins in line 2.
  private func complaints(about member: String) -> [String] {
    ModelMacrosTests.complaints(of: "@Entity final class Track: ManagedObject {\n  \(member)\n}")
  }

  /// The member after a correction.
  private func corrected(_ member: String, by message: String) -> String {
    let source = "@Entity final class Track: ManagedObject {\n  \(member)\n}"
    return String(ModelMacrosTests.corrected(source, by: message).split(separator: "\n")[1].dropFirst(2))
  }

  @Test func `an overridden property is diagnosed`() {
    #expect(
      complaints(about: "override var title = \"\"") == [
        "2 | 'title' is declared in the superclass already; the model has the inherited property once."
      ])
  }

  @Test func `both markers on one property are diagnosed once`() {
    #expect(
      complaints(about: "@Attribute @Relationship var album: Album?") == [
        "2 | '@Relationship' and '@Attribute' contradict each other at 'album'; remove one of them. "
          + "| remove '@Attribute' | remove '@Relationship'"
      ])
  }

  @Test func `of two equal markers the second is diagnosed`() {
    #expect(
      complaints(about: "@Attribute(.unique)\n  @Attribute(.indexed) var title: String") == [
        "3 | '@Attribute' is given twice; keep one with all arguments. | remove '@Attribute'"
      ])
    #expect(
      complaints(about: "@Transient @Transient var isOpen = false") == [
        "2 | '@Transient' is given twice; keep one with all arguments. | remove '@Transient'"
      ])
  }

  @Test func `a marker on a static computed property is diagnosed as on a static property`() {
    #expect(
      complaints(about: "@Attribute static var heading: String { \"\" }") == [
        "2 | '@Attribute' is for stored properties, and 'heading' is a static property; remove the attribute. "
          + "| remove '@Attribute'"
      ])
  }

  @Test(arguments: [
    "var size: Int { get { 1 } set {} }", "var size: Int { _read { yield count } }",
    "var size: Int { unsafeAddress { pointer } }", "static var size = 1", "class var size: Int { 1 }",
  ])
  func `a variable without storage in the object is not diagnosed`(member: String) {
    #expect(complaints(about: member) == [])
  }

  @Test func `a variable that becomes transient loses its markers and keeps its other attributes`() {
    #expect(
      corrected("@Attribute(.unique) @objc lazy var title = \"\"", by: "mark the variable '@Transient'")
        == "@Transient @objc lazy var title = \"\"")
  }

  @Test func `a marker on a function is diagnosed`() {
    #expect(complaints(about: "@Attribute(.unique) func title() {}") == ["2 | '@Attribute' is for variables."])
  }

  @Test func `a marker in a subentity is not diagnosed`() {
    #expect(
      ModelMacrosTests.complaints(
        of: "@Subentity final class Single: Release {\n@Attribute(.unique) var code: String\n}") == [])
  }

  @Test func `a list outside of an entity is diagnosed`() {
    let message = "2 | '#Index' stands in the body of a class with '@Entity', which reads it."
    for kind in ["struct", "class"] {
      #expect(
        ModelMacrosTests.complaints(of: "\(kind) Track {\n#Index<Track>([\\.title])\n}") == [message])
    }
  }

  @Test func `a list may name its class as Self`() {
    #expect(complaints(about: "var title = \"\"\n#Index<Self>([\\.title])") == [])
  }
}
