import CoherenceCore

/// A model of classes that declare their entities, with a subclass, and with inverses that one side declares.
enum Periodicals {
  static func model() throws -> ManagedObjectModel { try ManagedObjectModel(Issue.self, Weekly.self, Article.self) }

  class Issue: ManagedObject, DeclaredEntity {
    var title: String {
      get { self[Properties.table.title] }
      set { self[Properties.table.title] = newValue }
    }
    var articles: OrderedToMany<Article> { self[Properties.table.articles] }

    struct Properties: EntityProperties {
      static let table = Properties()
      let title = AttributeKey<String>("title")
      let articles = OrderedToManyKey<Article>("articles")
    }
    class var entityName: String { "Issue" }
    class var entityDeclaration: Entity {
      Entity(Issue.entityName, class: Issue.self) {
        Attribute("title", .string)
        Relationship("articles", toMany: Article.entityName, ordered: true, deleteRule: .cascade)
      }
    }
    class var propertyNames: [AnyKeyPath: String] { propertyNames(from: Issue.self) }
    static func propertyNames<Root: Issue>(from root: Root.Type) -> [AnyKeyPath: String] {
      [\Root.title: "title", \Root.articles: "articles"]
    }
  }

  final class Weekly: Issue {
    var week: Int {
      get { self[Properties.table.week] }
      set { self[Properties.table.week] = newValue }
    }

    @dynamicMemberLookup
    struct Properties: EntityProperties {
      static let table = Properties()
      let week = AttributeKey<Int>("week")
      subscript<Key>(dynamicMember keyPath: KeyPath<Issue.Properties, Key>) -> Key {
        Issue.Properties.table[keyPath: keyPath]
      }
    }
    override class var entityName: String { "Weekly" }
    override class var entityDeclaration: Entity {
      Entity(Weekly.entityName, class: Weekly.self, parent: Issue.entityName) { Attribute("week", .int64) }
    }
    override class var propertyNames: [AnyKeyPath: String] {
      Issue.propertyNames(from: Weekly.self).merging([\Weekly.week: "week"]) { name, _ in name }
    }
  }

  final class Article: ManagedObject, DeclaredEntity {
    var headline: String {
      get { self[Properties.table.headline] }
      set { self[Properties.table.headline] = newValue }
    }
    var pages: Int? {
      get { self[Properties.table.pages] }
      set { self[Properties.table.pages] = newValue }
    }
    var issue: Issue? {
      get { self[Properties.table.issue] }
      set { self[Properties.table.issue] = newValue }
    }
    var stage: Stage {
      get { self[Properties.table.stage] }
      set { self[Properties.table.stage] = newValue }
    }
    var review: Stage? {
      get { self[Properties.table.review] }
      set { self[Properties.table.review] = newValue }
    }

    struct Properties: EntityProperties {
      static let table = Properties()
      let headline = AttributeKey<String>("headline")
      let pages = AttributeKey<Int?>("pages")
      let issue = ToOneKey<Issue>("issue")
      let stage = AttributeKey<Stage>("stage")
      let review = AttributeKey<Stage?>("review")
    }
    static var entityName: String { "Article" }
    static var entityDeclaration: Entity {
      Entity(entityName, class: Article.self) {
        Attribute("headline", .string)
        Attribute("pages", .int64, optional: true)
        Attribute("stage", .enumeration(raw: Stage.self), default: Stage.planned)
        Attribute("review", .enumeration(raw: Stage.self), optional: true)
        Relationship("issue", toOne: Issue.entityName, inverse: "articles")
      }
    }
    static var propertyNames: [AnyKeyPath: String] {
      [
        \Article.headline: "headline", \Article.pages: "pages", \Article.issue: "issue", \Article.stage: "stage",
        \Article.review: "review",
      ]
    }
  }

  /// The stage of an article, with further stages in later versions of the program. The first case, which stands for
  /// them, is not the first one by its raw value.
  enum Stage: String, CaseIterable, AttributeConvertible {
    case planned
    case edited
    case printed
  }
}

extension Periodicals.Weekly: DeclaredSubentity {}
