import Testing

/// Diagnostics of relationships. Each expected text has the line, the message and the corrections.
@Suite struct RelationshipComplaintTests {
  /// The diagnostics of members of an entity's class, the first of which stands in line 2.
  private func complaints(about members: String) -> [String] {
    ModelMacrosTests.complaints(of: "@Entity final class Track: ManagedObject {\n  \(members)\n}")
  }

  /// The member after a correction.
  private func corrected(_ member: String, by message: String) -> String {
    let source = "@Entity final class Track: ManagedObject {\n  \(member)\n}"
    return String(ModelMacrosTests.corrected(source, by: message).split(separator: "\n")[1].dropFirst(2))
  }

  private let notOptional = """
    2 | The to-one relationship 'album' is optional in Swift, because a new object has no target yet, and a target \
    may be \
    deleted; 'required: true' makes the model refuse to save an object without a target. | make the type optional \
    | make the type optional, and the relationship required
    """

  @Test func `a to-one relationship without an optional type is diagnosed and can be required`() {
    let member = "@Relationship(inverse: \\Album.tracks) var album: Album"
    #expect(complaints(about: member) == [notOptional])
    #expect(
      corrected(member, by: "make the type optional") == "@Relationship(inverse: \\Album.tracks) var album: Album?")
    #expect(
      corrected(member, by: "make the type optional, and the relationship required")
        == "@Relationship(inverse: \\Album.tracks, required: true) var album: Album?")
  }

  @Test func `a collection as a relationship is diagnosed and can become a relationship of the framework`() {
    #expect(
      complaints(about: "@Relationship var genres: Set<Genre>") == [
        "2 | The members of a to-many relationship have the type 'ToMany', or 'OrderedToMany' with an order. "
          + "| replace the type by 'ToMany'"
      ])
    #expect(
      corrected("@Relationship var genres: [Genre]", by: "replace the type by 'OrderedToMany'")
        == "@Relationship var genres: OrderedToMany<Genre>")
  }

  @Test func `counts of a to-one relationship are diagnosed`() {
    let member = "@Relationship(minimumCount: 1) var album: Album?"
    #expect(
      complaints(about: member) == [
        "2 | 'minimumCount' is for to-many relationships; 'album' leads to one object, and 'required: true' demands "
          + "it. "
          + "| remove the argument 'minimumCount'"
      ])
    #expect(corrected(member, by: "remove the argument 'minimumCount'") == "@Relationship var album: Album?")
  }

  @Test func `a required to-many relationship is diagnosed`() {
    #expect(
      complaints(about: "@Relationship(required: true) var genres: ToMany<Genre>") == [
        "2 | 'required' is for to-one relationships; 'minimumCount: 1' demands a member of 'genres'. "
          + "| remove the argument 'required'"
      ])
  }

  @Test func `an attribute on a relationship is diagnosed`() {
    #expect(
      complaints(about: "@Attribute(.unique) var genres: ToMany<Genre>") == [
        "2 | 'genres' is a relationship by its type; '@Attribute' is for values. | remove '@Attribute'"
      ])
  }

  @Test func `an initial value of a relationship is diagnosed and can be removed`() {
    #expect(
      complaints(about: "@Relationship var album: Album? = nil") == [
        "2 | The relationship 'album' has no default; remove the value. | remove the value"
      ])
  }

  @Test func `key paths on both sides within a class are diagnosed at the second one`() {
    #expect(
      complaints(
        about: """
          @Relationship(inverse: \\Track.remixes) var original: Track?
          @Relationship(inverse: \\Track.original) var remixes: ToMany<Track>
          """) == [
          "3 | One of two inverse relationships names the other one; with key paths on both sides the compiler "
            + "reports a "
            + "circular reference. Remove the argument here: the model finds the inverse of 'remixes'. "
            + "| remove the argument 'inverse'"
        ])
  }

  @Test func `a key path of a relationship to itself is diagnosed and can become a text`() {
    let member = "@Relationship(inverse: \\Track.twin) var twin: Track?"
    #expect(
      complaints(about: member) == [
        "2 | A relationship that is its own inverse names itself by text, because the compiler reports a key path to "
          + "itself as a circular reference. | name the inverse by text"
      ])
    #expect(
      corrected(member, by: "name the inverse by text") == "@Relationship(inverse: \"twin\") var twin: Track?")
  }

  @Test func `an optional to-many relationship is diagnosed and can lose the optional`() {
    #expect(
      complaints(about: "var genres: ToMany<Genre>?") == [
        "2 | A to-many relationship without members is empty, and never 'nil'; make 'genres' a relationship that is "
          + "not optional. | remove the optional"
      ])
    #expect(corrected("var genres: ToMany<Genre>?", by: "remove the optional") == "var genres: ToMany<Genre>")
  }
}
