import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite("Expansions of the macros")
struct ExpansionTests {
  @Test func `every variable becomes a place and plain values are left out`() {
    expectExpansion(
      of: """
        @Aggregate public struct Post {
          let id: Int
          var text: String
          var author: Author
          var tags = Tags()
          static var limit = Limit()
        }
        """,
      """
      public struct Post {
        let id: Int
        var text: String
        var author: Author
        var tags = Tags()
        static var limit = Limit()
      }

      extension Post: CoherenceIdentityMap.Aggregate {
        private nonisolated static let nestedPlaces = CoherenceMacros.NestedPlaces<Self>(
          CoherenceMacros.NestedPlaces<Self>.at(\\.author),
          CoherenceMacros.NestedPlaces<Self>.at(\\.tags)
        )

        public nonisolated var nestedEntitiesKeyPaths: [CoherenceIdentityMap.PartialIdentifiableKeyPath<Self>] {
          Self.nestedPlaces.keyPaths
        }

        private nonisolated static func checkNestedPlaces() {
          let author = CoherenceMacros.NestedPlaces<Self>.variable(\\.author)
          author.check()
          let tags = CoherenceMacros.NestedPlaces<Self>.variable(\\.tags)
          tags.check()
        }
      }
      """)
  }

  @Test func `the key paths of a generic structure are not cached`() {
    expectExpansion(
      of: """
        @Aggregate struct Box<Content> {
          var content: Content
        }
        """,
      """
      struct Box<Content> {
        var content: Content
      }

      extension Box: CoherenceIdentityMap.Aggregate {
        nonisolated var nestedEntitiesKeyPaths: [CoherenceIdentityMap.PartialIdentifiableKeyPath<Self>] {
          CoherenceMacros.NestedPlaces<Self>(
            CoherenceMacros.NestedPlaces<Self>.at(\\.content)
          ).keyPaths
        }

        private nonisolated static func checkNestedPlaces() {
          let content = CoherenceMacros.NestedPlaces<Self>.variable(\\.content)
          content.check()
        }
      }
      """)
  }

  @Test func `constants and computed properties are checked but are no places`() {
    expectExpansion(
      of: """
        @Aggregate struct Post {
          let author: Author
          @NotNested let founder: Author
          var first: Author? { nil }
          var editor: Author {
            get { author }
            set {}
          }
          var watched: Author {
            didSet {}
          }
        }
        """,
      """
      struct Post {
        let author: Author
        let founder: Author
        var first: Author? { nil }
        var editor: Author {
          get { author }
          set {}
        }
        var watched: Author {
          didSet {}
        }
      }

      extension Post: CoherenceIdentityMap.Aggregate {
        private nonisolated static let nestedPlaces = CoherenceMacros.NestedPlaces<Self>(
          CoherenceMacros.NestedPlaces<Self>.at(\\.watched)
        )

        nonisolated var nestedEntitiesKeyPaths: [CoherenceIdentityMap.PartialIdentifiableKeyPath<Self>] {
          Self.nestedPlaces.keyPaths
        }

        private nonisolated static func checkNestedPlaces() {
          let author = CoherenceMacros.NestedPlaces<Self>.constant(\\.author)
          author.check()
          let editor = CoherenceMacros.NestedPlaces<Self>.computed(\\.editor)
          editor.check()
          let watched = CoherenceMacros.NestedPlaces<Self>.variable(\\.watched)
          watched.check()
        }
      }
      """)
  }

  @Test func `an enum gets a property for each associated value`() {
    expectExpansion(of: Self.media, Self.mediaExpansion)
  }

  @Test func `the property for a function with an optional result is the optional of the function`() {
    expectExpansion(
      of: """
        @EntityWrapper enum Source {
          case loader(() -> Book?)
        }
        """,
      """
      enum Source {
        case loader(() -> Book?)
      }

      extension Source: CoherenceIdentityMap.EntityWrapper {
        nonisolated func wrappedEntitiesKeyPaths<Root>(
          relativeTo parent: WritableKeyPath<Root, Self>
        ) -> [CoherenceIdentityMap.PartialIdentifiableKeyPath<Root>] {
          CoherenceMacros.NestedPlaces<Root>(
            CoherenceMacros.NestedPlaces<Root>.at(parent.appending(\\.loaderValue))
          ).keyPaths
        }

        private nonisolated var loaderValue: Optional<() -> Book?> {
          get {
            if case .loader(let value) = self {
              value
            } else {
              nil
            }
          }
          set {
            if case .loader = self, let newValue {
              self = .loader(newValue)
            }
          }
        }
      }
      """)
  }

  private static let media = """
    @EntityWrapper enum Media {
      case book(Book), nothing
      case pair(of: Book, with: Game?, count: Int)
    }
    """

  private static let mediaExpansion = """
    enum Media {
      case book(Book), nothing
      case pair(of: Book, with: Game?, count: Int)
    }

    extension Media: CoherenceIdentityMap.EntityWrapper {
      nonisolated func wrappedEntitiesKeyPaths<Root>(
        relativeTo parent: WritableKeyPath<Root, Self>
      ) -> [CoherenceIdentityMap.PartialIdentifiableKeyPath<Root>] {
        CoherenceMacros.NestedPlaces<Root>(
          CoherenceMacros.NestedPlaces<Root>.at(parent.appending(\\.bookValue)),
          CoherenceMacros.NestedPlaces<Root>.at(parent.appending(\\.pairValue0)),
          CoherenceMacros.NestedPlaces<Root>.at(parent.appending(\\.pairValue1))
        ).keyPaths
      }

      private nonisolated var bookValue: Optional<Book> {
        get {
          if case .book(let value) = self {
            value
          } else {
            nil
          }
        }
        set {
          if case .book = self, let newValue {
            self = .book(newValue)
          }
        }
      }

      private nonisolated var pairValue0: Optional<Book> {
        get {
          if case .pair(of: let value, with: _, count: _) = self {
            value
          } else {
            nil
          }
        }
        set {
          if case .pair(of: _, with: let value1, count: let value2) = self, let newValue {
            self = .pair(of: newValue, with: value1, count: value2)
          }
        }
      }

      private nonisolated var pairValue1: Game? {
        get {
          if case .pair(of: _, with: let value, count: _) = self {
            value
          } else {
            nil
          }
        }
        set {
          if case .pair(of: let value0, with: _, count: let value2) = self {
            self = .pair(of: value0, with: newValue, count: value2)
          }
        }
      }
    }
    """
}
