import CoherenceMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite("Diagnostics of the macros")
struct ComplaintTests {
  @Test(arguments: ["class", "actor"])
  func `a class as an aggregate is diagnosed`(kind: String) {
    expectExpansion(
      of: "@Aggregate \(kind) Post {}", "\(kind) Post {}",
      complaints: [
        DiagnosticSpec(
          message:
            "'@Aggregate' is for structures: the store would not notice the change of an object.",
          line: 1, column: 1)
      ])
  }

  @Test func `the diagnostic for an enum proposes the macro for wrappers`() {
    expectExpansion(
      of: "@Aggregate enum Media {}", "enum Media {}",
      complaints: [
        DiagnosticSpec(
          message: "'@Aggregate' is for structures. Entities in the cases of an enum are found by '@EntityWrapper'.",
          line: 1, column: 1)
      ])
  }

  @Test func `a class as a wrapper is diagnosed`() {
    expectExpansion(
      of: "@EntityWrapper class Media {}", "class Media {}",
      complaints: [
        DiagnosticSpec(
          message:
            "'@EntityWrapper' is for enums and structures: the store would not notice the change of an object.",
          line: 1, column: 1)
      ])
  }

  @Test func `a handwritten list is diagnosed and not generated again`() {
    let source = """
      struct Post {
        var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [] }
      }
      """
    expectExpansion(
      of: "@Aggregate \(source)", source,
      complaints: [
        DiagnosticSpec(
          message: "The key paths of the entities are listed in this member; remove the member or the macro.", line: 2,
          column: 3)
      ])
  }

  /// The expansion of a wrapper without nested entities.
  private static func withoutPlaces(_ keyword: String, _ name: String, _ members: String) -> String {
    """
    \(keyword) \(name) {
    \(members)
    }

    extension \(name): CoherenceIdentityMap.EntityWrapper {
      nonisolated func wrappedEntitiesKeyPaths<Root>(
        relativeTo parent: WritableKeyPath<Root, Self>
      ) -> [CoherenceIdentityMap.PartialIdentifiableKeyPath<Root>] {
        CoherenceMacros.NestedPlaces<Root>(

        ).keyPaths
      }
    }
    """
  }

  @Test func `variables invisible to the macro are diagnosed`() {
    let members = """
        lazy var first = Author()
        var (second, third) = (Author(), Author())
        #if DEBUG
        var fourth: Author
        #endif
      """
    expectExpansion(
      of: "@EntityWrapper struct Page {\n\(members)\n}",
      Self.withoutPlaces("struct", "Page", members),
      complaints: [
        DiagnosticSpec(
          message:
            "The macro does not see lazy variables. Mark this one with '@NotNested', or list the key paths by hand.",
          line: 2, column: 3),
        DiagnosticSpec(
          message: "The macro does not see variables that are declared as a tuple. Declare them one by one.",
          line: 3,
          column: 7),
        DiagnosticSpec(
          message: """
            The macro does not see properties inside '#if'. Mark this one with '@NotNested', or list the key paths by \
            hand.
            """, line: 5, column: 3),
      ])
  }

  @Test func `enum cases inside of conditional compilation are diagnosed`() {
    let cases = """
        case link(Int)
        #if DEBUG
        case draft(Author), note(Int)
        case size(Int)
        #endif
      """
    expectExpansion(
      of: "@EntityWrapper enum Media {\n\(cases)\n}",
      Self.withoutPlaces("enum", "Media", cases),
      complaints: [
        DiagnosticSpec(
          message: """
            The macro does not see cases inside '#if'. Mark this one with '@NotNested', or list the key paths by hand.
            """, line: 4, column: 3)
      ])
  }

  @Test func `enum cases of the same name are diagnosed`() {
    let cases = """
        case link(Int), link(to: Int)
        case photo(of: Author)
        case photo(by: Author), text(Author)
        @NotNested case pair(Author, Author)
      """
    let message =
      "Patterns cannot distinguish cases with one name. Give this case a name of its own."
    expectExpansion(
      of: "@EntityWrapper enum Media {\n\(cases)\n}",
      """
      enum Media {
      \(cases.replacing("@NotNested ", with: ""))
      }

      extension Media: CoherenceIdentityMap.EntityWrapper {
        nonisolated func wrappedEntitiesKeyPaths<Root>(
          relativeTo parent: WritableKeyPath<Root, Self>
        ) -> [CoherenceIdentityMap.PartialIdentifiableKeyPath<Root>] {
          CoherenceMacros.NestedPlaces<Root>(
            CoherenceMacros.NestedPlaces<Root>.at(parent.appending(\\.textValue))
          ).keyPaths
        }

        private nonisolated var textValue: Optional<Author> {
          get {
            if case .text(let value) = self {
              value
            } else {
              nil
            }
          }
          set {
            if case .text = self, let newValue {
              self = .text(newValue)
            }
          }
        }
      }
      """,
      complaints: [
        DiagnosticSpec(message: message, line: 3, column: 8), DiagnosticSpec(message: message, line: 4, column: 8),
      ])
  }

  // MARK: By type

  private struct Fixed {
    let author = Author(id: 1, name: "a")
    let reviewer: Author? = nil
    let readers: [Author] = []
    let media = Media.nothing
    let drafts: [Author?] = []
    let columns: [[Author]] = []
    let byRole: [String: Author] = [:]
    let byTeam: [String: [Author]] = [:]
    let gallery: [Media] = []
    let album: [Media]? = nil
    let count = 1
    let ages: [String: [Int]] = [:]
    var names = ["a"]
    var frozen = CollectionOfOne(Author(id: 1, name: "a"))
    var window = Frozen(authors: [])
    var optionalWindow: Frozen?
    var optionalReaders: [Author]?
    var optionalTags: Set<Tag>?
    var editor: Author {
      get { author }
      set {}
    }
    var size: Int {
      get { 1 }
      set {}
    }
    var team: [Author]? {
      get { nil }
      set {}
    }
    var teams: [String: [Author]] {
      get { [:] }
      set {}
    }
    var cover: Media? {
      get { nil }
      set {}
    }
  }

  /// Elements can be read and not be replaced.
  private struct Frozen: Collection {
    let authors: [Author]
    var startIndex: Int { authors.startIndex }
    var endIndex: Int { authors.endIndex }
    func index(after index: Int) -> Int { index + 1 }
    subscript(index: Int) -> Author { authors[index] }
  }

  private typealias Places = NestedPlaces<Fixed>

  @Test func `an entity in a constant fails the compile-time check`() {
    let checks: [Any] = [
      Places.constant(\.author), Places.constant(\.reviewer), Places.constant(\.readers), Places.constant(\.media),
      Places.constant(\.drafts), Places.constant(\.columns), Places.constant(\.byRole), Places.constant(\.byTeam),
      Places.constant(\.gallery), Places.constant(\.album),
    ]
    #expect(checks.allSatisfy { $0 is PlaceCheck.Constant })
    let (count, ages) = (Places.constant(\.count), Places.constant(\.ages))
    #expect(type(of: count) == PlaceCheck.Passed.self && type(of: ages) == PlaceCheck.Passed.self)
  }

  @Test func `an entity in a computed property fails the compile-time check`() {
    let (editor, size) = (Places.computed(\.editor), Places.computed(\.size))
    #expect(type(of: editor) == PlaceCheck.Computed.self && type(of: size) == PlaceCheck.Passed.self)
    let others: [Any] = [Places.computed(\.team), Places.computed(\.teams), Places.computed(\.cover)]
    #expect(others.allSatisfy { $0 is PlaceCheck.Computed })
  }

  @Test func `entities in a read-only collection fail the compile-time check`() {
    let (window, frozen, names) = (Places.variable(\.window), Places.variable(\.frozen), Places.variable(\.names))
    #expect(type(of: window) == PlaceCheck.Immutable.self)
    let optional = (
      Places.variable(\.optionalWindow), Places.variable(\.optionalReaders), Places.variable(\.optionalTags)
    )
    #expect(type(of: optional) == (PlaceCheck.Immutable, PlaceCheck.Passed, PlaceCheck.Passed).self)
    #expect(type(of: frozen) == PlaceCheck.Passed.self && type(of: names) == PlaceCheck.Passed.self)
  }
}
